// In a world of five words and length four a large beam finds everything there
// is, in the order of its probability.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "lib/search/beam_search.h"
#include "lib/search/forced.h"
#include "tests/nn/test_network.h"
#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

// Every sequence of the words 0, 3, 4, 5, 6 of at most `longest` words.
std::vector<Ids> AllSequences(size_t longest) {
  std::vector<Ids> all = {{}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == longest) continue;
    for (const int32_t word : {0, 3, 4, 5, 6}) {
      Ids longer = all[i];
      longer.push_back(word);
      all.push_back(longer);
    }
  }
  return all;
}

class FiveWords : public testing::TestWithParam<NamedConfig> {
 protected:
  static constexpr size_t kLongest = 4;

  FiveWords()
      : model_(SmallWorld(7, 3, GetParam().config)),
        all_(AllSequences(kLongest)) {
    options_.beam_size = options_.n_best = static_cast<int64_t>(all_.size());
    options_.max_length = kLongest;
    options_.suppressed = {1};
  }

  void ExpectEverything(double normalize);

  std::unique_ptr<Transformer> model_;
  std::vector<Ids> all_;
  SearchOptions options_;
};

void FiveWords::ExpectEverything(double normalize) {
  options_.normalize = normalize;
  ASSERT_EQ(all_.size(), 781u);  // 1 + 5 + 25 + 125 + 625
  const Ids source = {3, 6, 0, 5};
  std::vector<ForcedPair> pairs;
  for (const Ids& ids : all_) pairs.push_back({source, ids});
  const std::vector<ForcedResult> forced =
      ForcedDecoder(*model_, options_.boundary).Run(pairs, {});
  std::map<Ids, const ForcedResult*> expected;
  double best = -1e9;
  for (size_t i = 0; i < all_.size(); ++i) {
    expected[all_[i]] = &forced[i];
    best =
        std::max(best, NormalizedScore(forced[i].log_prob,
                                       static_cast<int64_t>(all_[i].size()) + 1,
                                       normalize));
  }
  const std::vector<Hypothesis> found =
      Search(*model_, options_, {source}).front();
  ASSERT_EQ(found.size(), all_.size());
  EXPECT_EQ(found[0].score, best);
  std::set<Ids> seen;
  for (size_t i = 0; i < found.size(); ++i) {
    const Hypothesis& h = found[i];
    EXPECT_TRUE(seen.insert(h.ids).second);
    ASSERT_TRUE(expected.contains(h.ids));
    EXPECT_EQ(h.token_log_probs, expected[h.ids]->token_log_probs);
    EXPECT_EQ(h.log_prob, expected[h.ids]->log_prob);
    const double length = static_cast<double>(h.ids.size() + 1);
    EXPECT_NEAR(h.score, h.log_prob / std::pow(length, normalize), 1e-12);
    EXPECT_LE(h.score, found[i > 0 ? i - 1 : 0].score);
  }
}

TEST_P(FiveWords, ALargeBeamFindsWhatEnumerationFinds) { ExpectEverything(0); }

TEST_P(FiveWords, ALargeBeamFindsItAlsoByNormalisedScores) {
  ExpectEverything(0.6);
}

INSTANTIATE_TEST_SUITE_P(Networks, FiveWords, testing::ValuesIn(EveryNetwork()),
                         NameOf);

}  // namespace
}  // namespace pipeformer
