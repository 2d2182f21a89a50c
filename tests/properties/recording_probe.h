// An attention probe that keeps every query's weights, for comparing them.
#ifndef PIPEFORMER_TESTS_PROPERTIES_RECORDING_PROBE_H_
#define PIPEFORMER_TESTS_PROPERTIES_RECORDING_PROBE_H_

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "lib/nn/context.h"

namespace pipeformer {

class RecordingProbe : public AttentionProbe {
 public:
  // Where a query stands: kind, layer, row of the batch.
  using Place = std::tuple<AttentionKind, int, int64_t>;

  explicit RecordingProbe(int64_t num_heads) : num_heads_(num_heads) {}

  void See(AttentionKind kind, int layer,
           std::span<AttentionGroup> groups) override {
    for (const AttentionGroup& g : groups) {
      const int64_t padded = PaddedKeys(g.num_keys);
      for (int64_t q = 0; q < g.num_queries; ++q) {
        auto& rows = weights_[{kind, layer, g.first_query + q}];
        rows.clear();
        for (int64_t head = 0; head < num_heads_; ++head) {
          const float* row = g.weights + (head * g.num_queries + q) * padded;
          rows.emplace_back(row, row + padded);
        }
      }
    }
  }

  // [heads][padded keys] of every query seen last, by its place.
  const std::map<Place, std::vector<std::vector<float>>>& weights() const {
    return weights_;
  }

 private:
  int64_t num_heads_;
  std::map<Place, std::vector<std::vector<float>>> weights_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_PROPERTIES_RECORDING_PROBE_H_
