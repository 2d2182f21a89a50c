// --precision: what decode, score and inspect-attention multiply in, so that
// each can give the numbers of the others.
#ifndef PIPEFORMER_TOOLS_PRECISION_H_
#define PIPEFORMER_TOOLS_PRECISION_H_

#include <string>

#include "lib/nn/linear.h"
#include "tools/support/options.h"

namespace pipeformer {

inline constexpr char kFullPrecision[] = "f32";

inline Option PrecisionOption(std::string& precision) {
  return {.name = "precision",
          .value = "f32|int8",
          .help =
              "what the layers multiply: single precision, or whole "
              "numbers of eight bits, which are faster and smaller",
          .target = &precision};
}

// Requires: one of the words that PrecisionOption allows.
inline Precision PrecisionOf(const std::string& word) {
  return word == kFullPrecision ? Precision::kFloat32 : Precision::kInt8;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_PRECISION_H_
