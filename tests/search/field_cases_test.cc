// The values of field cases about beam search, lists of results and scores, all
// computed by hand in a world where p(</s>) = 0.5, p(a) = 0.3 and p(b) = 0.2 at
// every step, whatever came before.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "lib/search/forced.h"
#include "tests/search/search_twin.h"
#include "tests/search/toy_world.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

class FieldCases : public testing::Test {
 protected:
  std::vector<Hypothesis> Found(const SearchOptions& options) const {
    return Search(*world_, options, {{kA}}).front();
  }

  std::unique_ptr<Transformer> world_ =
      ToyWorld({.end = 0.5, .a = 0.3, .b = 0.2});
};

// beam-gt-vocab
TEST_F(FieldCases, ABeamWiderThanTheVocabularyFindsAllThereIs) {
  const std::map<Ids, double> expected = {
      {{}, 0.5},        {{kA}, 0.15},     {{kB}, 0.1},     {{kA, kA}, 0.045},
      {{kA, kB}, 0.03}, {{kB, kA}, 0.03}, {{kB, kB}, 0.02}};
  const auto found =
      Found({.beam_size = 50, .n_best = 50, .normalize = 0, .max_length = 2});
  ASSERT_EQ(found.size(), expected.size());
  for (const Hypothesis& h : found) {
    ASSERT_TRUE(expected.contains(h.ids));
    EXPECT_NEAR(std::exp(h.log_prob), expected.at(h.ids), 1e-6);
  }
}

// beam-top1-stop
TEST_F(FieldCases, TheSearchGoesOnWhileALongerResultMayWin) {
  const auto best =
      Found({.beam_size = 5, .normalize = 2, .max_length = 5}).at(0);
  EXPECT_EQ(best.ids, (Ids{kA, kA, kA, kA, kA}));
  EXPECT_NEAR(best.score, -0.186473, 1e-6);
}

// beam-lenpen-early
TEST_F(FieldCases, TheFirstOfManyIsTheBestAlone) {
  SearchOptions options{
      .beam_size = 5, .n_best = 5, .normalize = 1, .max_length = 5};
  const auto found = Found(options);
  const double scores[] = {-0.693147, -0.948560, -1.033698, -1.076266,
                           -1.101808};
  ASSERT_EQ(found.size(), std::size(scores));
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].ids, Ids(i, kA));
    EXPECT_NEAR(found[i].score, scores[i], 1e-6);
  }
  options.n_best = 1;
  EXPECT_TRUE(Same(Found(options).at(0), found[0]));
}

// beam-empty-best
TEST_F(FieldCases, AnEmptyResultIsTheBestUnlessSomethingIsAskedFor) {
  SearchOptions options{.beam_size = 5};
  EXPECT_EQ(Found(options).at(0).ids, Ids{});
  options.min_length = 1;
  EXPECT_EQ(Found(options).at(0).ids, Ids{kA});
}

// beam-finished-slots
TEST_F(FieldCases, WhatHasEndedTakesNoPlaceFromWhatGoesOn) {
  const auto found = Found({.beam_size = 2, .n_best = 2});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ids, Ids{});
  EXPECT_EQ(found[1].ids, Ids{kA});
}

// nb-more-than-exist
TEST_F(FieldCases, NoResultIsMadeUp) {
  const auto found =
      Found({.beam_size = 5, .n_best = 5, .max_length = 1, .suppressed = {kB}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].ids, Ids{});
  EXPECT_EQ(found[1].ids, Ids{kA});
}

// len-output-limit: at the limit the end comes, with its cost.
TEST_F(FieldCases, TheLimitEndsWithTheEnd) {
  const auto found =
      Found({.beam_size = 1, .max_length = 3, .min_length = 3}).at(0);
  EXPECT_EQ(found.ids, (Ids{kA, kA, kA}));
  EXPECT_NEAR(found.log_prob, -4.305066, 1e-5);
  const Ids source = {kA};
  const ForcedPair pair{source, found.ids};
  EXPECT_EQ(ForcedDecoder(*world_, {}).Run({&pair, 1}, {})[0].log_prob,
            found.log_prob);
}

// sc-sign, sc-eos and sc-perplexity
TEST_F(FieldCases, ScoresAreNaturalLogarithmsWithTheEnd) {
  const Ids source = {kA}, target = {kA};
  const std::vector<ForcedPair> pairs = {{source, target}, {source, {}}};
  const auto forced = ForcedDecoder(*world_, {}).Run(pairs, {});
  EXPECT_NEAR(forced[0].log_prob, -1.897120, 1e-6);
  ASSERT_EQ(forced[0].token_log_probs.size(), 2u);
  EXPECT_NEAR(forced[0].token_log_probs[0], std::log(0.3), 1e-6);
  EXPECT_NEAR(forced[0].token_log_probs[1], std::log(0.5), 1e-6);
  const auto found = Found({.beam_size = 5, .n_best = 5});
  EXPECT_EQ(found.at(1).ids, target);
  EXPECT_EQ(found[1].log_prob, forced[0].log_prob);
  EXPECT_NEAR(std::exp(-(forced[0].log_prob + forced[1].log_prob) / 3),
              2.371262, 1e-6);
}

}  // namespace
}  // namespace pipeformer
