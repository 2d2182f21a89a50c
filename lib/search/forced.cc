#include "lib/search/forced.h"

#include <algorithm>
#include <cmath>

#include "lib/nn/pair_batch.h"
#include "lib/ops/cross_entropy.h"

namespace pipeformer {
namespace {

// Copies the weights of every sentence out of the network.
class Collector : public AttentionProbe {
 public:
  Collector(int64_t num_heads, std::span<ForcedResult> results)
      : num_heads_(num_heads), results_(results) {}

  void See(AttentionKind kind, int layer,
           std::span<AttentionGroup> groups) override {
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

// What the logits of one row, which predict `target`, say.
void SeeRow(std::span<const float> logits, float lse, int32_t target,
            const ForcedWishes& wishes, ForcedResult& result) {
  const float log_prob = logits[static_cast<size_t>(target)] - lse;
  result.token_log_probs.push_back(log_prob);
  result.log_prob += static_cast<double>(log_prob);
  if (wishes.num_expected > 0) {
    std::vector<Candidate> best(
        std::min(static_cast<size_t>(wishes.num_expected), logits.size()),
        kNoCandidate);
    SelectBest(logits.data(), static_cast<int64_t>(logits.size()), 0, best);
    auto& expected = result.expected.emplace_back();
    for (const Candidate& c : best) {
      if (c.id >= 0) expected.push_back({c.id, c.logit - lse});
    }
  }
  if (wishes.probabilities == WantProbabilities::kYes) {
    result.probabilities.reserve(result.probabilities.size() + logits.size());
    for (const float logit : logits) {
      result.probabilities.push_back(std::exp(logit - lse));
    }
  }
}

}  // namespace

std::vector<ForcedResult> ForcedDecoder::Run(std::span<const ForcedPair> pairs,
                                             const ForcedWishes& wishes) {
  PairBatch batch(model_.config(), boundary_);
  for (const ForcedPair& pair : pairs) batch.Append(pair.source, pair.target);
  std::vector<ForcedResult> results(pairs.size());
  Collector collector(model_.config().num_heads, results);
  arena_.Rewind({});
  Context context{.arena = arena_};
  if (wishes.attention == WantAttention::kYes) context.probe = &collector;
  const Variable hidden = model_.Predict(context, batch);
  const Ragged targets = batch.targets();
  size_t pair = 0;
  model_.ForEachLogits(
      context, hidden,
      [&](int64_t row, std::span<const float> logits, float lse) {
        while (row >= targets.offsets[pair + 1]) ++pair;
        SeeRow(logits, lse, targets.ids[static_cast<size_t>(row)], wishes,
               results[pair]);
      });
  for (ForcedResult& result : results) SortByKind(result.attention);
  return results;
}

}  // namespace pipeformer
