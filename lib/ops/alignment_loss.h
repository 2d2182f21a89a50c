// Guided alignment: how far the attention of one sentence is from a given
// alignment, and which way to move it.
#ifndef PIPEFORMER_LIB_OPS_ALIGNMENT_LOSS_H_
#define PIPEFORMER_LIB_OPS_ALIGNMENT_LOSS_H_

#include <cstdint>
#include <span>

#include "lib/base/link.h"
#include "lib/ops/attention.h"

namespace pipeformer {

// kCrossEntropy  -sum_j g log(a + 1e-6), nats; the small number keeps it finite
// kMeanSquare    sum_j (a - g)^2
enum class AlignmentCost { kCrossEntropy, kMeanSquare };

struct AlignmentLossOptions {
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  int64_t num_heads = 1;
  float gradient_scale = 1;
};

// The sum over the linked queries t of the cost between a, the mean over the
// heads of the attention weights of t, and g, which is even over the keys that
// t is linked with. A query without a link costs nothing. Adds the gradient
// times `gradient_scale` to `d_weights`, for AttentionBackward.
//   links  query `target`, key `source`, sorted, each link once
//   d_weights  as group.weights: [heads, queries, PaddedKeys(keys)]
// Requires: the group has weights; links name its queries and keys.
// Source: Chen et al. 2016 (Guided Alignment Training for Topic-Aware Neural
// Machine Translation), both costs, there of the one attention of a recurrent
// network; Garg et al. 2019 (Jointly Learning to Align and Translate with
// Transformer Models) guide one head. Here it is the mean of all heads, which
// alignments are read from afterwards.
double AlignmentLoss(const AttentionGroup& group, std::span<const Link> links,
                     const AlignmentLossOptions& options, float* d_weights);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ALIGNMENT_LOSS_H_
