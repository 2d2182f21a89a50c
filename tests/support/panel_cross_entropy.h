// The cross-entropy of logits that all exist: what lib/nn does panel by panel.
#ifndef PIPEFORMER_TESTS_SUPPORT_PANEL_CROSS_ENTROPY_H_
#define PIPEFORMER_TESTS_SUPPORT_PANEL_CROSS_ENTROPY_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/ops/cross_entropy.h"

namespace pipeformer {

// The loss; its gradient is written over the logits. `options.vocabulary` is
// set to their width, which is taken in panels of at most `panel`.
inline double CrossEntropyInPlace(Matrix logits,
                                  std::span<const int32_t> targets,
                                  CrossEntropyOptions options,
                                  double* plain_loss, int64_t panel = 40) {
  options.vocabulary = logits.cols;
  std::vector<LogitSum> sums(targets.size());
  const auto for_each_panel = [&](auto run) {
    for (int64_t first = 0; first < logits.cols; first += panel) {
      run(logits.Columns(first, std::min(panel, logits.cols - first)), first);
    }
  };
  for_each_panel([&](Matrix part, int64_t first) {
    SeeLogits(part, first, targets, sums);
  });
  const double loss = CrossEntropy(sums, options, plain_loss);
  for_each_panel([&](Matrix part, int64_t first) {
    LogitGradient(part, first, targets, sums, options);
  });
  return loss;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_PANEL_CROSS_ENTROPY_H_
