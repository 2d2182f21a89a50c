// What hypotheses look at while they are decoded: the attention of the last
// layer to the source, averaged over its heads.
#ifndef PIPEFORMER_LIB_SEARCH_COVERAGE_H_
#define PIPEFORMER_LIB_SEARCH_COVERAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/context.h"
#include "lib/nn/transformer.h"

namespace pipeformer {

class CoverageProbe : public AttentionProbe {
 public:
  // Looks at `network` from now on, to be added to what was seen `weight`
  // times.
  void Watch(const Transformer& network, double weight) {
    layer_ = network.config().decoder_layers - 1;
    num_heads_ = network.config().num_heads;
    weight_ = weight;
  }

  // Forgets the step before.
  void Clear() { seen_.clear(); }

  void See(AttentionKind kind, int layer,
           std::span<AttentionGroup> groups) override {
    if (kind != AttentionKind::kCross || layer != layer_) return;
    seen_.resize(groups.size());
    for (const AttentionGroup& g : groups) {
      auto& mean = seen_[static_cast<size_t>(g.first_query)];
      mean.resize(static_cast<size_t>(g.num_keys));
      for (int64_t head = 0; head < num_heads_; ++head) {
        const float* weights = g.weights + head * PaddedKeys(g.num_keys);
        for (size_t j = 0; j < mean.size(); ++j) {
          mean[j] += weight_ / static_cast<double>(num_heads_) *
                     static_cast<double>(weights[j]);
        }
      }
    }
  }

  // By source row, of the hypothesis in row `row` of the step.
  std::span<const double> Of(int64_t row) const {
    return seen_[static_cast<size_t>(row)];
  }

 private:
  int layer_ = 0;
  int64_t num_heads_ = 1;
  double weight_ = 1;
  std::vector<std::vector<double>> seen_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_COVERAGE_H_
