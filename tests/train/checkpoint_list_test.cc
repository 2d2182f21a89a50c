#include "lib/train/checkpoint_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/train/weight_average.h"

namespace pipeformer {
namespace {

using List = std::vector<Checkpoint>;

// What is kept of validations of these values after updates 1, 2, 3 ...
List Kept(const CheckpointRule& rule, const std::vector<double>& values) {
  List kept;
  int64_t step = 0;
  for (const double value : values) KeepCheckpoint(rule, {++step, value}, kept);
  return kept;
}

TEST(CheckpointList, KeepsNoneWithoutARule) {
  EXPECT_EQ(Kept({}, {1, 2, 3}), List{});
}

TEST(CheckpointList, KeepsTheLast) {
  const CheckpointRule rule = {KeepCheckpoints::kLast, 2};
  EXPECT_EQ(Kept(rule, {5}), (List{{1, 5}}));
  EXPECT_EQ(Kept(rule, {5, 4, 3}), (List{{2, 4}, {3, 3}}));
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(Kept(rule, {none, none, none}), (List{{2, none}, {3, none}}));
}

TEST(CheckpointList, KeepsTheBestInTheOrderOfSteps) {
  const CheckpointRule rule = {KeepCheckpoints::kBest, 2};
  EXPECT_EQ(Kept(rule, {5, 7, 6}), (List{{2, 7}, {3, 6}}));
  EXPECT_EQ(Kept(rule, {5, 7, 4, 4.5}), (List{{1, 5}, {2, 7}}));
}

TEST(CheckpointList, OfEqualOnesTheOlderIsKept) {
  const CheckpointRule rule = {KeepCheckpoints::kBest, 2};
  EXPECT_EQ(Kept(rule, {3, 3, 3, 9, 3}), (List{{1, 3}, {4, 9}}));
}

TEST(CheckpointList, WhatIsNotFiniteIsNeverAmongTheBest) {
  EXPECT_EQ(Kept({KeepCheckpoints::kBest, 3},
                 {std::nan(""), 1, -std::numeric_limits<double>::infinity()}),
            (List{{2, 1}}));
}

TEST(CheckpointList, KnowsWhatIsKept) {
  const List kept = {{4, 1}, {9, 1}};
  EXPECT_TRUE(IsKept(kept, 9));
  EXPECT_FALSE(IsKept(kept, 5));
}

TEST(WeightAverage, IsTheMean) {
  WeightAverage average(2);
  average.Add(std::vector<float>{1, 0.1f});
  average.Add(std::vector<float>{2, 0.1f});
  average.Add(std::vector<float>{6, 0.1f});
  std::vector<float> mean(2);
  average.Mean(mean);
  EXPECT_EQ(mean, (std::vector<float>{3, 0.1f}));
}

TEST(WeightAverage, OfNothingOrOfOtherSizesIsRefused) {
  WeightAverage average(2);
  std::vector<float> mean(2);
  EXPECT_THROW(average.Mean(mean), std::logic_error);
  EXPECT_THROW(average.Add(std::vector<float>{1}), std::logic_error);
}

}  // namespace
}  // namespace pipeformer
