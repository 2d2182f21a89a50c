// Drawing the next piece by chance instead of taking the most probable one.
#ifndef PIPEFORMER_LIB_SEARCH_SAMPLING_H_
#define PIPEFORMER_LIB_SEARCH_SAMPLING_H_

#include <cstdint>
#include <span>

namespace pipeformer {

// kNone     no chance: beam search
// kFull     among all pieces
// kTopK     among the k most probable (Fan et al. 2018, section 5.1)
// kNucleus  among the fewest most probable whose probabilities reach p
//           (Holtzman et al. 2020, section 3.1)
enum class SamplingKind { kNone, kFull, kTopK, kNucleus };

struct SamplingOptions {
  SamplingKind kind = SamplingKind::kNone;
  int64_t k = 1;
  double p = 1;            // in (0, 1]
  double temperature = 1;  // >= 0; 0 takes the most probable piece
  uint64_t seed = 1;

  bool active() const { return kind != SamplingKind::kNone; }
};

// The piece that `chance`, uniform in [0, 1), draws from softmax(logits /
// temperature) cut as the options say. Pieces with a logit of minus infinity
// are never drawn; -1 when there is no other. Requires: options.active().
int32_t SamplePiece(std::span<const float> logits,
                    const SamplingOptions& options, double chance);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_SAMPLING_H_
