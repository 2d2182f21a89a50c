// `decode`: translations of the lines of a stream, in their order.
#ifndef PIPEFORMER_TOOLS_DECODE_RUN_H_
#define PIPEFORMER_TOOLS_DECODE_RUN_H_

#include "tools/decode_options.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Translates the tool's input. Every record of the input gives one of the
// output; a bad one is told and stands as a blank line or an error record.
void RunDecode(Tool& tool, DecodeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_DECODE_RUN_H_
