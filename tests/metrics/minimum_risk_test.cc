#include "lib/metrics/minimum_risk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"

namespace pipeformer {
namespace {

double ScoreOf(const Metric& metric, std::string_view hypothesis,
               std::string_view reference) {
  std::vector<double> statistics(metric.num_statistics());
  metric.MakeCounter()->Count({hypothesis, {&reference, 1}}, statistics);
  return metric.Score(statistics);
}

const std::vector<std::string> kTexts = {
    "the cat sat on the mat", "a cat sat on a mat", "dogs bark at night",
    "the cat sat on a mat", "the cat sat on the mat"};

TEST(MinimumRisk, UtilityIsTheWeightedMeanOfTheScores) {
  const std::vector<double> weights = {0.1, 0.4, 2, 0.5, 1};
  const Chrf chrf({});
  const Bleu bleu({.effective_order = true});
  for (const Metric* metric :
       {static_cast<const Metric*>(&chrf), static_cast<const Metric*>(&bleu)}) {
    const auto utilities = ExpectedUtilities(*metric, kTexts, weights);
    ASSERT_EQ(utilities.size(), kTexts.size());
    for (size_t c = 0; c < kTexts.size(); ++c) {
      double expected = 0;
      for (size_t r = 0; r < kTexts.size(); ++r) {
        expected += weights[r] / 4 * ScoreOf(*metric, kTexts[c], kTexts[r]);
      }
      EXPECT_NEAR(utilities[c], expected, 1e-9);
    }
  }
}

// The text in the middle wins over the most probable one that stands alone.
TEST(MinimumRisk, ConsensusWins) {
  const std::vector<double> weights = {1, 1, 1.5, 1, 0};
  const auto utilities = ExpectedUtilities(Chrf({}), kTexts, weights);
  EXPECT_EQ(std::ranges::max_element(utilities) - utilities.begin(), 3);
}

TEST(MinimumRisk, OneCandidateAgreesWithItself) {
  const std::vector<std::string> one = {"alone"};
  const std::vector<double> weight = {0.3};
  EXPECT_NEAR(ExpectedUtilities(Chrf({}), one, weight)[0], 100, 1e-9);
}

TEST(PosteriorWeights, AreProbabilitiesThatAddUpToOne) {
  const std::vector<double> log_probs = {-1000, -1000 + std::log(3.0)};
  const auto weights = PosteriorWeights(log_probs);
  EXPECT_NEAR(weights[0], 0.25, 1e-12);
  EXPECT_NEAR(weights[1], 0.75, 1e-12);
}

}  // namespace
}  // namespace pipeformer
