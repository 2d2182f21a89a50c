// The filter of pipeline.h for streams of tensors: each frame is worked on by
// itself, by as many threads as asked for, and the results leave in the order
// of the frames, each as soon as it and all before it are ready.
#ifndef PIPEFORMER_TOOLS_SUPPORT_FRAME_PIPELINE_H_
#define PIPEFORMER_TOOLS_SUPPORT_FRAME_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "formats/tensor_stream.h"
#include "tools/support/pipeline.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct InputFrame {
  uint64_t index = 0;  // from 0
  std::string place;   // `file: frame 3`, for messages
  std::optional<TensorFrame> frame;
  std::string problem;  // why there is none; begins with the place
};

// Called from several threads at once. An exception ends the run, after the
// records before have been written.
using FrameWork = std::function<RecordResult(const InputFrame&)>;

// Works on every frame of the tool's input. A frame that is no tensor file is
// given to `work` with its problem; throws what reading or writing threw, a
// stream that breaks off among it, after what came before has been written.
void FilterFrames(Tool& tool, const FrameWork& work);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_FRAME_PIPELINE_H_
