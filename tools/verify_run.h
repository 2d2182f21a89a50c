// `decode --verify-invariance N`: whether the first lines have one result each,
// however they are searched.
#ifndef PIPEFORMER_TOOLS_VERIFY_RUN_H_
#define PIPEFORMER_TOOLS_VERIFY_RUN_H_

#include "tools/decode_options.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Says on stdout that they have; or, on stderr, which have not, and throws
// Error (70).
void VerifyInvariance(Tool& tool, const DecodeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_VERIFY_RUN_H_
