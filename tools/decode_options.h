// The options of `decode`.
#ifndef PIPEFORMER_TOOLS_DECODE_OPTIONS_H_
#define PIPEFORMER_TOOLS_DECODE_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/precision.h"
#include "tools/support/options.h"
#include "tools/translation.h"

namespace pipeformer {

struct DecodeSettings {
  std::vector<std::string> models;
  std::vector<double> weights;  // of each model; none: alike
  std::string from = "text";    // text or jsonl
  std::string to;               // text or jsonl; empty: as `from`
  std::string precision = kFullPrecision;
  bool prefix = false;       // the input brings what a result begins with
  bool constraints = false;  // and what it contains
  std::optional<double> temperature;
  int64_t verify_invariance = 0;  // lines to search in several ways, or 0
  TranslationOptions translation;
};

// The options, bound to `settings`.
std::vector<Option> DecodeOptions(DecodeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_DECODE_OPTIONS_H_
