// The cost of an alignment against its definition in double precision, and its
// gradient against central differences of that.
#include "lib/ops/alignment_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lib/base/random.h"

namespace pipeformer {
namespace {

constexpr int64_t kHeads = 3, kQueries = 4, kKeys = 18, kPadded = 32;
// Query 0 has one key, 1 none, 2 three, 3 two.
const std::vector<Link> kLinks = {{5, 0},  {0, 2}, {7, 2},
                                  {17, 2}, {1, 3}, {2, 3}};

using Weights = std::vector<double>;  // [heads, queries, padded]

Weights RandomWeights() {
  Random random(3);
  Weights weights(kHeads * kQueries * kPadded);
  for (int64_t row = 0; row < kHeads * kQueries; ++row) {
    double sum = 0;
    for (int64_t j = 0; j < kKeys; ++j) {
      sum += weights[static_cast<size_t>(row * kPadded + j)] =
          0.01 + random.Uniform();
    }
    for (int64_t j = 0; j < kKeys; ++j) {
      weights[static_cast<size_t>(row * kPadded + j)] /= sum;
    }
  }
  return weights;
}

double SlowLoss(const Weights& weights, AlignmentCost cost) {
  double loss = 0;
  for (int32_t t = 0; t < kQueries; ++t) {
    double count = 0;
    for (const Link& link : kLinks) count += link.target == t;
    for (int32_t j = 0; j < kKeys && count > 0; ++j) {
      double mean = 0, gold = 0;
      for (int64_t h = 0; h < kHeads; ++h) {
        mean += weights[static_cast<size_t>((h * kQueries + t) * kPadded + j)] /
                kHeads;
      }
      for (const Link& link : kLinks) {
        if (link == Link{j, t}) gold = 1 / count;
      }
      loss += cost == AlignmentCost::kMeanSquare ? (mean - gold) * (mean - gold)
              : gold > 0                         ? -gold * std::log(mean + 1e-6)
                                                 : 0;
    }
  }
  return loss;
}

struct Result {
  double loss;
  std::vector<float> d_weights;
};

Result CostOf(const Weights& weights, AlignmentCost cost, float scale) {
  std::vector<float> single(weights.begin(), weights.end());
  Result result{0, std::vector<float>(single.size(), 0.5f)};
  const AttentionGroup group{
      .num_queries = kQueries, .num_keys = kKeys, .weights = single.data()};
  result.loss = AlignmentLoss(
      group, kLinks,
      {.cost = cost, .num_heads = kHeads, .gradient_scale = scale},
      result.d_weights.data());
  return result;
}

class Alignment : public testing::TestWithParam<AlignmentCost> {};

TEST_P(Alignment, LossIsTheTwins) {
  const Weights weights = RandomWeights();
  const double expected = SlowLoss(weights, GetParam());
  EXPECT_NEAR(CostOf(weights, GetParam(), 1).loss, expected, 1e-6 * expected);
}

TEST_P(Alignment, GradientIsAddedAndIsTheTwinsSlope) {
  constexpr double kStep = 1e-6, kScale = 2;
  const Weights weights = RandomWeights();
  const Result result = CostOf(weights, GetParam(), kScale);
  for (size_t i = 0; i < weights.size(); ++i) {
    Weights more = weights, less = weights;
    more[i] += kStep;
    less[i] -= kStep;
    const double slope =
        (SlowLoss(more, GetParam()) - SlowLoss(less, GetParam())) / (2 * kStep);
    EXPECT_NEAR(result.d_weights[i] - 0.5, kScale * slope,
                1e-5 * (1 + std::abs(slope)));
  }
}

TEST_P(Alignment, IsFiniteWhereAttentionIsZero) {
  const Result result =
      CostOf(Weights(kHeads * kQueries * kPadded), GetParam(), 1);
  EXPECT_TRUE(std::isfinite(result.loss));
  for (const float d : result.d_weights) EXPECT_TRUE(std::isfinite(d));
}

INSTANTIATE_TEST_SUITE_P(Costs, Alignment,
                         testing::Values(AlignmentCost::kCrossEntropy,
                                         AlignmentCost::kMeanSquare));

// Attention that is even over the linked keys, and nowhere else.
TEST(AlignmentLoss, IsLeastWhereAttentionIsTheGold) {
  Weights weights(kHeads * kQueries * kPadded);
  for (const Link& link : kLinks) {
    double count = 0;
    for (const Link& other : kLinks) count += other.target == link.target;
    for (int64_t h = 0; h < kHeads; ++h) {
      weights[static_cast<size_t>((h * kQueries + link.target) * kPadded +
                                  link.source)] = 1 / count;
    }
  }
  EXPECT_NEAR(CostOf(weights, AlignmentCost::kMeanSquare, 1).loss, 0, 1e-12);
  EXPECT_NEAR(CostOf(weights, AlignmentCost::kCrossEntropy, 1).loss,
              std::log(3) + std::log(2), 1e-5);  // the entropy of the gold
}

}  // namespace
}  // namespace pipeformer
