// Threads that stay: each runs the same function with its own number, the
// caller waits for all. Workers keep their thread-local kernels warm between
// calls.
#ifndef PIPEFORMER_LIB_BASE_WORKER_POOL_H_
#define PIPEFORMER_LIB_BASE_WORKER_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace pipeformer {

class WorkerPool {
 public:
  // Requires: num_workers >= 1.
  explicit WorkerPool(int num_workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int num_workers() const { return static_cast<int>(threads_.size()); }

  // Runs task(0) ... task(num_workers - 1) side by side and returns when all
  // have ended. Throws the exception of the lowest-numbered worker that threw.
  void Run(const std::function<void(int)>& task);

 private:
  void Work(int worker);
  void Stop();

  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int)>* task_ = nullptr;
  uint64_t round_ = 0;
  int running_ = 0;
  bool stop_ = false;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_WORKER_POOL_H_
