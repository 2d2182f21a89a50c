// The loss of a network's output layer. Logits exist only in panels that stay
// in the cache; with a tape the gradients are there as soon as the loss is.
#ifndef PIPEFORMER_LIB_NN_OUTPUT_LOSS_H_
#define PIPEFORMER_LIB_NN_OUTPUT_LOSS_H_

#include <cstdint>
#include <span>

#include "lib/nn/context.h"
#include "lib/nn/linear.h"

namespace pipeformer {

// Sums over the target pieces of a batch, each times its weight.
struct LossSum {
  double smoothed = 0;   // label-smoothed cross-entropy, nats
  double plain = 0;      // cross-entropy, nats
  double weight = 0;     // of the pieces: without weights their number
  int64_t pieces = 0;    // their number
  double alignment = 0;  // cost of guided alignment (guided_alignment.h)

  // Calls visit(part) for each of its numbers, in one order.
  template <class Visit>
  void ForEachPart(const Visit& visit) {
    visit(smoothed);
    visit(plain);
    visit(weight);
    visit(pieces);
    visit(alignment);
  }
};

// How the loss of a batch is taken.
struct LossOptions {
  float label_smoothing = 0;
  float gradient_scale = 1;  // 1 / weight of the whole batch, for the mean
  std::span<const float> weights = {};  // [rows] or none: 1
};

// The loss of predicting `targets` [rows] from hidden [rows, d_model] by the
// logits that `output` gives. With a tape, adds the gradients of hidden and of
// the output layer at once.
LossSum OutputLoss(Context& context, const Linear& output, Variable hidden,
                   std::span<const int32_t> targets,
                   const LossOptions& options);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_OUTPUT_LOSS_H_
