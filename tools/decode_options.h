// The options of `decode`.
#ifndef PIPEFORMER_TOOLS_DECODE_OPTIONS_H_
#define PIPEFORMER_TOOLS_DECODE_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/support/options.h"
#include "tools/translation.h"

namespace pipeformer {

struct DecodeSettings {
  std::string model;
  std::string from = "text";  // text or jsonl
  std::string to;             // text or jsonl; empty: as `from`
  bool prefix = false;        // the input brings what a result begins with
  std::optional<double> temperature;
  TranslationOptions translation;
};

// The options, bound to `settings`.
std::vector<Option> DecodeOptions(DecodeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_DECODE_OPTIONS_H_
