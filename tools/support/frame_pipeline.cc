#include "tools/support/frame_pipeline.h"

#include <istream>
#include <thread>
#include <utility>
#include <vector>

#include "formats/input_buffer.h"
#include "lib/base/error.h"
#include "tools/support/ordered_writer.h"
#include "tools/support/queue.h"

namespace pipeformer {
namespace {

// The next frame, good or bad; nothing at the end.
std::optional<InputFrame> NextFrame(TensorStreamReader& reader,
                                    const std::string& name) {
  InputFrame input;
  input.index = reader.num_frames();
  input.place = name + ": frame " + std::to_string(input.index);
  try {
    input.frame = reader.Next();
    if (!input.frame) return std::nullopt;
  } catch (const Error& error) {
    if (!reader.can_go_on()) throw;
    input.problem = error.what();
  }
  return input;
}

Result WorkOn(const InputFrame& input, const FrameWork& work, bool strict) {
  Result result;
  try {
    RecordResult one = work(input);
    result.failure = one.failure;
    if (one.problem.empty() || !strict) result.bytes = std::move(one.bytes);
    if (!one.problem.empty()) result.problems = {std::move(one.problem)};
  } catch (...) {
    result.failure = std::current_exception();
  }
  return result;
}

// Gives the frames of `buffer` to the queue; what reading threw, or null.
std::exception_ptr ReadInto(InputBuffer& buffer, OrderedWriter& writer,
                            BoundedQueue<InputFrame>& queue) {
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);
  TensorStreamReader reader(in, buffer.name());
  const auto wait = [&](int ms) { return buffer.Wait(ms); };
  try {
    while (WaitForInput(wait, writer)) {
      auto input = NextFrame(reader, buffer.name());
      if (!input || !writer.Admit(input->index)) break;
      queue.Push(std::move(*input));
    }
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

void FilterFrames(Tool& tool, const FrameWork& work) {
  const auto threads = static_cast<uint64_t>(tool.options().threads);
  const bool strict = tool.options().strict;
  InputBuffer buffer(OpenInput(tool.options().inputs.at(0)));
  tool.output();  // fails before the work, not after it
  OrderedWriter writer(tool, 2 * threads);
  BoundedQueue<InputFrame> queue(2 * threads);
  std::exception_ptr failure;
  {
    std::vector<std::jthread> workers;
    const QueueCloser closer(queue);  // before the workers are joined
    for (uint64_t i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        while (const auto input = queue.Pop()) {
          writer.Emit(input->index, WorkOn(*input, work, strict));
        }
      });
    }
    failure = ReadInto(buffer, writer, queue);
  }
  writer.Finish();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pipeformer
