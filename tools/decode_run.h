// `decode`: translations of the lines of a stream, in their order.
#ifndef PIPEFORMER_TOOLS_DECODE_RUN_H_
#define PIPEFORMER_TOOLS_DECODE_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/support/options.h"
#include "tools/support/tool.h"
#include "tools/translation.h"

namespace pipeformer {

struct DecodeSettings {
  std::string model;
  std::string from = "text";  // text or jsonl
  std::string to;             // text or jsonl; empty: as `from`
  TranslationOptions translation;
};

// The options, bound to `settings`.
std::vector<Option> DecodeOptions(DecodeSettings& settings);

// Translates the tool's input. Every record of the input gives one of the
// output; a bad one is told and stands as a blank line or an error record.
void RunDecode(Tool& tool, DecodeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_DECODE_RUN_H_
