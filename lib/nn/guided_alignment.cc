#include "lib/nn/guided_alignment.h"

#include <algorithm>

namespace pipeformer {

// All pieces of a pair have its weight.
float GuidedAlignment::WeightOf(int64_t s) const {
  if (batch_.weights().empty()) return 1;
  const int32_t first = batch_.targets().offsets[static_cast<size_t>(s)];
  return batch_.weights()[static_cast<size_t>(first)];
}

void GuidedAlignment::See(AttentionKind kind, int layer,
                          std::span<AttentionGroup> groups) {
  if (kind != AttentionKind::kCross || layer != options_.layer) return;
  for (size_t s = 0; s < groups.size(); ++s) {
    const auto links = batch_.LinksOf(static_cast<int64_t>(s));
    if (links.empty()) continue;
    AttentionGroup& group = groups[s];
    const float weight = WeightOf(static_cast<int64_t>(s));
    const int64_t size = AttentionWeightsSize(group, num_heads_);
    float* d_weights = arena_.Array<float>(size);
    std::fill_n(d_weights, size, 0.0f);
    loss_ += weight *
             AlignmentLoss(
                 group, links,
                 {.cost = options_.cost,
                  .num_heads = num_heads_,
                  .gradient_scale = weight * options_.weight * gradient_scale_},
                 d_weights);
    group.d_weights = d_weights;
  }
}

}  // namespace pipeformer
