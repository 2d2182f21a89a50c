// Guided alignment: teaches the cross-attention of one layer to look where a
// word aligner says a target piece came from. What is trained is then
//   loss + weight * alignment,
// each a sum over the target pieces of a batch, times the weight of their pair,
// over the weight of all pieces; a piece without a link adds nothing to the
// second. The layer's weights before dropout count, averaged over its heads, as
// `decode --alignment` reads them. See alignment_loss.h for costs and sources.
#ifndef PIPEFORMER_LIB_NN_GUIDED_ALIGNMENT_H_
#define PIPEFORMER_LIB_NN_GUIDED_ALIGNMENT_H_

#include <span>

#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/pair_batch.h"
#include "lib/ops/alignment_loss.h"
#include "lib/tensor/arena.h"

namespace pipeformer {

struct GuideOptions {
  AlignmentCost cost = AlignmentCost::kCrossEntropy;
  float weight = 0.1f;  // of the alignment's part in the loss
  int layer = 0;        // of the decoder, from 0
};

// A probe for one pass over a batch: give it to Context::probe, run Predict,
// then ask for the loss. The gradient goes the way of the tape.
class GuidedAlignment : public AttentionProbe {
 public:
  //   gradient_scale  as in LossOptions
  // Requires: the arena and `batch`, which is aligned, outlive the pass.
  GuidedAlignment(const TransformerConfig& config, const PairBatch& batch,
                  const GuideOptions& options, float gradient_scale,
                  Arena& arena)
      : num_heads_(config.num_heads),
        batch_(batch),
        options_(options),
        gradient_scale_(gradient_scale),
        arena_(arena) {}

  void See(AttentionKind kind, int layer,
           std::span<AttentionGroup> groups) final;

  // The sum of the costs, each times the weight of its pair, without the
  // weight of the alignment's part.
  double loss() const { return loss_; }

 private:
  float WeightOf(int64_t s) const;

  int64_t num_heads_;
  const PairBatch& batch_;
  GuideOptions options_;
  float gradient_scale_;
  Arena& arena_;
  double loss_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_GUIDED_ALIGNMENT_H_
