// Results come from several threads in any order and leave in the order of the
// input, each as soon as it and all before it are ready.
#ifndef PIPEFORMER_TOOLS_SUPPORT_ORDERED_WRITER_H_
#define PIPEFORMER_TOOLS_SUPPORT_ORDERED_WRITER_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/support/tool.h"

namespace pipeformer {

// What one unit of work (a record, or a run of records) came to.
struct Result {
  std::string bytes = {};                  // for the output
  std::vector<std::string> problems = {};  // records in it that were bad
  std::exception_ptr failure = nullptr;    // what ends the run after `bytes`
};

class OrderedWriter {
 public:
  // Takes the results in order, from one thread at a time. May throw, which
  // ends the run.
  using Sink = std::function<void(Result&&)>;

  // At most `max_ahead` results are under way at once (Requires: > 0).
  OrderedWriter(Sink sink, uint64_t max_ahead);

  // The usual sink: bytes to `write`, or else to the tool's output, problems to
  // its BadRecord.
  using WriteBytes = std::function<void(std::string_view)>;
  OrderedWriter(Tool& tool, uint64_t max_ahead, WriteBytes write = nullptr);

  // Waits until result `index` may be begun: no more than max_ahead after the
  // last one written. False when the run has failed and should stop. For the
  // reader of the input; memory stays bounded even where output is slow.
  bool Admit(uint64_t index);

  // Gives result `index`; indices count from 0, each once. Writes it and those
  // after it that are ready, or leaves it to the thread that is writing. Any
  // thread. Throws nothing: a failure is kept for Finish.
  void Emit(uint64_t index, Result result);

  // Ends the run with `failure`, for a fault that belongs to no one result.
  // Any thread.
  void Fail(std::exception_ptr failure);

  // True when the run has failed: what comes now is dropped.
  bool Failed() const;

  // The end: call it when no thread will call Emit any more. Throws what
  // failed first in the order of the input.
  void Finish();

 private:
  void WriteReady(std::unique_lock<std::mutex>& lock);

  Sink sink_;
  const uint64_t max_ahead_;
  mutable std::mutex mutex_;
  std::condition_variable advanced_;
  std::map<uint64_t, Result> waiting_;
  uint64_t next_ = 0;  // the first result not written
  bool writing_ = false;
  std::exception_ptr failure_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_ORDERED_WRITER_H_
