#include "lib/search/forced.h"

#include <algorithm>

#include "lib/nn/pair_batch.h"

namespace pipeformer {
namespace {

// Copies the weights of every sentence out of the network.
class Collector : public AttentionProbe {
 public:
  Collector(int64_t num_heads, std::span<ForcedResult> results)
      : num_heads_(num_heads), results_(results) {}

  void See(AttentionKind kind, int layer,
           std::span<const AttentionGroup> groups) override {
    for (size_t s = 0; s < groups.size(); ++s) {
      for (int head = 0; head < num_heads_; ++head) {
        results_[s].attention.push_back(Copy(kind, layer, head, groups[s]));
      }
    }
  }

 private:
  static AttentionMatrix Copy(AttentionKind kind, int layer, int head,
                              const AttentionGroup& g) {
    AttentionMatrix m{.kind = kind,
                      .layer = layer,
                      .head = head,
                      .queries = g.num_queries,
                      .keys = g.num_keys,
                      .weights = {}};
    m.weights.reserve(static_cast<size_t>(m.queries * m.keys));
    const int64_t padded = PaddedKeys(g.num_keys);
    for (int64_t q = 0; q < g.num_queries; ++q) {
      const float* row = g.weights + (head * g.num_queries + q) * padded;
      m.weights.insert(m.weights.end(), row, row + g.num_keys);
    }
    return m;
  }

  int64_t num_heads_;
  std::span<ForcedResult> results_;
};

void SortByKind(std::vector<AttentionMatrix>& attention) {
  std::stable_sort(attention.begin(), attention.end(),
                   [](const AttentionMatrix& a, const AttentionMatrix& b) {
                     return a.kind < b.kind;
                   });
}

}  // namespace

std::vector<ForcedResult> ForcedDecoder::Run(std::span<const ForcedPair> pairs,
                                             WantAttention want) {
  PairBatch batch(model_.config(), boundary_);
  for (const ForcedPair& pair : pairs) batch.Append(pair.source, pair.target);
  std::vector<ForcedResult> results(pairs.size());
  Collector collector(model_.config().num_heads, results);
  arena_.Rewind({});
  Context context{.arena = arena_};
  if (want == WantAttention::kYes) context.probe = &collector;
  const Variable hidden = model_.Predict(context, batch);
  const Ragged targets = batch.targets();
  std::vector<float> log_probs(targets.ids.size());
  model_.TargetLogProbs(context, hidden, targets.ids, log_probs);
  for (size_t s = 0; s < pairs.size(); ++s) {
    const auto begin = log_probs.begin() + targets.offsets[s];
    const auto end = log_probs.begin() + targets.offsets[s + 1];
    results[s].token_log_probs.assign(begin, end);
    for (const float p : results[s].token_log_probs) {
      results[s].log_prob += static_cast<double>(p);
    }
    SortByKind(results[s].attention);
  }
  return results;
}

}  // namespace pipeformer
