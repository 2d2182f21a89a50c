// A queue between threads that holds at most so many items, so that a fast
// producer waits for a slow consumer and memory stays bounded.
#ifndef PIPEFORMER_TOOLS_SUPPORT_QUEUE_H_
#define PIPEFORMER_TOOLS_SUPPORT_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace pipeformer {

// Any number of threads may call any of its functions.
template <class T>
class BoundedQueue {
 public:
  // Requires: capacity > 0.
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room and appends `item`; false, without it, once closed.
  bool Push(T item) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    filled_.notify_one();
    return true;
  }

  // Waits for an item and takes it; nothing once closed and empty.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return Take();
  }

  // Takes an item if there is one, without waiting.
  std::optional<T> TryPop() {
    const std::lock_guard lock(mutex_);
    return Take();
  }

  // Ends the queue: what is in it can still be taken, nothing more comes.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

 private:
  std::optional<T> Take() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    room_.notify_one();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;
  bool closed_ = false;
};

// Closes a queue at the end of a scope, also when an exception leaves it.
template <class T>
class QueueCloser {
 public:
  explicit QueueCloser(BoundedQueue<T>& queue) : queue_(queue) {}
  QueueCloser(const QueueCloser&) = delete;
  ~QueueCloser() { queue_.Close(); }

 private:
  BoundedQueue<T>& queue_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_QUEUE_H_
