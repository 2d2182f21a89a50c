// From logits to probabilities: log-softmax rows, the label-smoothed training
// loss and the selection of the most probable pieces.
#ifndef PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_
#define PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_

#include <cstdint>
#include <limits>
#include <span>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// The sum of the exponentials of a row's logits, which come part by part; a
// part is seen in one order, so equal parts give equal bits.
//   log p(piece) = logit - log_sum()
// Source: Milakov and Gimelshein 2018, section 3 (a softmax whose maximum is
// not yet known).
struct ExpSum {
  float max = -std::numeric_limits<float>::infinity();
  double exps = 0;  // of exp(x - max)

  float log_sum() const;
};

// Adds the logits [rows, n] of a part to the sums [rows].
void AddExps(Matrix logits, std::span<ExpSum> sums);

// Logits of a part, so that those of many rows stay in the cache.
inline constexpr int64_t kLogitPart = 256;

// ExpSum::log_sum of a row of `count` logits, seen in such parts.
float LogSumExp(const float* row, int64_t count);

// The label-smoothed cross-entropy of rows of logits, in nats:
//   (1 - e)(lse - x[target]) + e (lse - mean(x)),  e = label_smoothing.
// A large vocabulary comes in panels of columns that stay in the cache, each
// seen once for the loss and once more for the gradient:
//   SeeLogits of every panel, CrossEntropy, LogitGradient of every panel.
// Source: Szegedy et al. 2016, section 7 (uniform over all labels).
struct LogitSum : ExpSum {  // of the logits of one row that were seen
  double logits = 0;        // of x
  float target = 0;         // x[target], once it was seen
};

// Adds a panel to the sums of its rows.
//   logits  [rows, n], of the pieces from `first` on
//   targets  [rows], counted over the whole vocabulary;  sums  [rows]
void SeeLogits(Matrix logits, int64_t first, std::span<const int32_t> targets,
               std::span<LogitSum> sums);

struct CrossEntropyOptions {
  int64_t vocabulary = 1;     // logits of a row
  float label_smoothing = 0;  // in [0, 1)
  float gradient_scale = 1;
  // [rows] or none: row r, loss and gradient, counts weights[r] times.
  std::span<const float> weights = {};
};

// The sum of the losses of all rows; `plain_loss` receives the sum without
// smoothing, for reports.
double CrossEntropy(std::span<const LogitSum> sums,
                    const CrossEntropyOptions& options, double* plain_loss);

// Writes over the logits of a panel, as for SeeLogits, the gradient of the loss
// times `gradient_scale`.
void LogitGradient(Matrix logits, int64_t first,
                   std::span<const int32_t> targets,
                   std::span<const LogitSum> sums,
                   const CrossEntropyOptions& options);

// A piece and its logit.
struct Candidate {
  float logit;
  int32_t id;
};

// What a selection begins with.
inline constexpr Candidate kNoCandidate = {
    -std::numeric_limits<float>::infinity(), -1};

// Lets `count` logits, of the pieces from `first` on, join the `best` so far:
// the largest first, the lower id first among equals. NaN and minus infinity
// are never chosen: where too few others came, the last ones stay kNoCandidate.
// Requires: the parts of a row come in the order of their pieces.
void SelectBest(const float* logits, int64_t count, int32_t first,
                std::span<Candidate> best);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_CROSS_ENTROPY_H_
