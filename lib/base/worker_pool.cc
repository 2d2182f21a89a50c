#include "lib/base/worker_pool.h"

namespace pipeformer {

WorkerPool::WorkerPool(int num_workers)
    : errors_(static_cast<size_t>(num_workers)) {
  try {
    for (int w = 0; w < num_workers; ++w) {
      threads_.emplace_back([this, w] { Work(w); });
    }
  } catch (...) {  // the system has no more threads
    Stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(const std::function<void(int)>& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  running_ = num_workers();
  ++round_;
  start_.notify_all();
  done_.wait(lock, [this] { return running_ == 0; });
  for (std::exception_ptr& error : errors_) {
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
}

void WorkerPool::Work(int worker) {
  uint64_t seen = 0;
  for (;;) {
    const std::function<void(int)>* task;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      task = task_;
    }
    std::exception_ptr error;
    try {
      (*task)(worker);
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    errors_[static_cast<size_t>(worker)] = error;
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace pipeformer
