// From logits to probabilities: log-softmax rows, the label-smoothed training
// loss and the selection of the most probable pieces.
#ifndef PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_
#define PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_

#include <cstdint>
#include <span>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// log(sum(exp(row))) for a row of `count` logits; log_prob = logit - this.
float LogSumExp(const float* row, int64_t count);

// The sum over rows of the label-smoothed cross-entropy, in nats:
//   (1 - e)(lse - x[target]) + e (lse - mean(x)),  e = label_smoothing,
// and, written over the logits, its gradient times `gradient_scale`.
//   logits  [rows, vocabulary];  targets  [rows]
// `plain_loss` receives the sum without smoothing, for reports. With `weights`
// the losses of row r, and its gradient, count weights[r] times.
// Source: Szegedy et al. 2016, section 7 (uniform over all labels).
struct CrossEntropyOptions {
  float label_smoothing = 0;  // in [0, 1)
  float gradient_scale = 1;
  std::span<const float> weights = {};  // [rows] or none: 1
};
double CrossEntropyInPlace(Matrix logits, std::span<const int32_t> targets,
                           CrossEntropyOptions options, double* plain_loss);

// A piece and its logit.
struct Candidate {
  float logit;
  int32_t id;
};

// The `best.size()` largest of `count` logits, largest first, the lower id
// first among equals. NaN and minus infinity are never chosen: where too few
// others are left, the last ids are -1. Requires: 0 < best.size() <= count.
void SelectBest(const float* row, int64_t count, std::span<Candidate> best);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_
