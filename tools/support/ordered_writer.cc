#include "tools/support/ordered_writer.h"

#include <utility>

#include "lib/base/error.h"

namespace pipeformer {

OrderedWriter::OrderedWriter(Sink sink, uint64_t max_ahead)
    : sink_(std::move(sink)), max_ahead_(max_ahead) {
  Check(max_ahead > 0, "OrderedWriter needs room for one result");
}

OrderedWriter::OrderedWriter(Tool& tool, uint64_t max_ahead, WriteBytes write)
    : OrderedWriter(
          [&tool, write = std::move(write)](Result&& result) {
            if (write) {
              write(result.bytes);
            } else if (!result.bytes.empty()) {
              tool.output().Write(result.bytes);
            }
            for (const auto& problem : result.problems) tool.BadRecord(problem);
          },
          max_ahead) {}

bool OrderedWriter::Admit(uint64_t index) {
  std::unique_lock lock(mutex_);
  advanced_.wait(lock, [&] { return failure_ || index < next_ + max_ahead_; });
  return failure_ == nullptr;
}

void OrderedWriter::Emit(uint64_t index, Result result) {
  std::unique_lock lock(mutex_);
  waiting_.emplace(index, std::move(result));
  if (!writing_) WriteReady(lock);
}

// One thread at a time writes, with the lock open, so that the others go on.
void OrderedWriter::WriteReady(std::unique_lock<std::mutex>& lock) {
  writing_ = true;
  while (!failure_ && !waiting_.empty() && waiting_.begin()->first == next_) {
    Result result = std::move(waiting_.extract(waiting_.begin()).mapped());
    lock.unlock();
    std::exception_ptr failure = result.failure;
    try {
      sink_(std::move(result));
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure_) failure_ = failure;
    ++next_;
    advanced_.notify_all();
  }
  if (failure_) waiting_.clear();
  writing_ = false;
}

void OrderedWriter::Fail(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  advanced_.notify_all();
}

bool OrderedWriter::Failed() const {
  const std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void OrderedWriter::Finish() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  Check(waiting_.empty(), "a result before the last one was never given");
}

}  // namespace pipeformer
