#include "lib/search/ensemble.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "lib/search/beam_search.h"
#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

constexpr int64_t kVocab = 300;  // two parts of logits

class EnsembleTest : public testing::TestWithParam<NamedConfig> {
 protected:
  EnsembleTest()
      : a_(SmallWorld(kVocab, 21, GetParam().config)),
        b_(SmallWorld(kVocab, 22, GetParam().config)),
        sources_(RandomSources(12, 9, kVocab, 23)) {}

  std::unique_ptr<Transformer> a_, b_;
  std::vector<std::vector<int32_t>> sources_;
  SearchOptions options_ = {.beam_size = 3, .n_best = 3, .max_length = 8};
};

TEST_P(EnsembleTest, ANetworkThatDoesNotCountChangesNothing) {
  const auto alone = Search(*a_, options_, sources_);
  const auto both = Search({{a_.get(), b_.get()}, {1, 0}}, options_, sources_);
  for (size_t s = 0; s < sources_.size(); ++s) {
    ASSERT_EQ(both[s].size(), alone[s].size());
    for (size_t h = 0; h < alone[s].size(); ++h) {
      EXPECT_TRUE(Same(both[s][h], alone[s][h]));
    }
  }
}

// Greedy: each piece has the largest weighted sum of log-probabilities, and the
// hypothesis the sum of these.
TEST_P(EnsembleTest, ChoosesByTheWeightedSum) {
  options_.beam_size = options_.n_best = 1;
  const std::vector<float> weights = {0.4f, 0.9f};
  const auto found =
      Search({{a_.get(), b_.get()}, weights}, options_, sources_);
  int differ = 0;
  for (size_t s = 0; s < sources_.size(); ++s) {
    const Hypothesis& h = found[s].at(0);
    double sum = 0;
    for (size_t t = 0; t <= h.ids.size(); ++t) {
      const auto prefix = std::span(h.ids).first(t);
      const auto a = NextLogProbs(*a_, options_, sources_[s], prefix);
      const auto b = NextLogProbs(*b_, options_, sources_[s], prefix);
      const auto both = [&](size_t id) {
        return weights[0] * a[id] + weights[1] * b[id];
      };
      const bool ends = t == h.ids.size();
      const size_t chosen = ends ? 2 : static_cast<size_t>(h.ids[t]);
      for (size_t id = 0; id < a.size() && t < 8; ++id) {
        EXPECT_LE(both(id), both(chosen) + 1e-4f);
      }
      EXPECT_NEAR(h.token_log_probs[t], both(chosen), 1e-4);
      sum += both(chosen);
    }
    EXPECT_NEAR(h.log_prob, sum, 1e-3);
    differ += h.ids != Search(*a_, options_, {sources_[s]})[0][0].ids;
  }
  EXPECT_GT(differ, 0) << "the second network never mattered";
}

TEST_P(EnsembleTest, ASentenceDoesNotDependOnTheOthers) {
  const Ensemble both = {{a_.get(), b_.get()}, {0.5f, 0.5f}};
  const auto together = Search(both, options_, sources_);
  options_.mini_batch_words = 1;
  for (size_t s = 0; s < sources_.size(); ++s) {
    const auto alone = Search(both, options_, {sources_[s]}).front();
    ASSERT_EQ(alone.size(), together[s].size());
    for (size_t h = 0; h < alone.size(); ++h) {
      EXPECT_TRUE(Same(alone[h], together[s][h]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EnsembleTest,
                         testing::ValuesIn(EveryArchitecture()), NameOf);

}  // namespace
}  // namespace pipeformer
