#include "lib/ops/cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/panel_cross_entropy.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidths[] = {1, 2, 3, 7, 15, 16, 17, 33, 64, 100, 8000};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<int32_t> Targets(int64_t rows, int64_t vocabulary) {
  Random random(17);
  std::vector<int32_t> targets;
  for (int64_t r = 0; r < rows; ++r) {
    targets.push_back(
        static_cast<int32_t>(random.Below(static_cast<uint64_t>(vocabulary))));
  }
  return targets;
}

class CrossEntropyTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(CrossEntropyTest);

TEST_P(CrossEntropyTest, LossEqualsItsTwin) {
  for (const int64_t width : kWidths) {
    for (const float range : {1.0f, 30.0f, 1e4f}) {
      for (const float smoothing : {0.0f, 0.1f, 0.5f}) {
        const auto logits =
            TestMatrix::Uniform(7, width, Random(1), range, Layout::kSlice);
        const auto targets = Targets(7, width);
        auto work = CopyOf(logits);
        double plain = 0;
        const double loss = CrossEntropyInPlace(
            work, targets, {.label_smoothing = smoothing}, &plain);
        const DoubleMatrix x = logits.view();
        const double expected = reference::CrossEntropy(x, targets, smoothing);
        const double expected_plain = reference::CrossEntropy(x, targets, 0);
        EXPECT_NEAR(loss, expected, 3e-6 * (7 * range + expected));
        EXPECT_NEAR(plain, expected_plain, 3e-6 * (7 * range + expected));
        EXPECT_TRUE(work.GuardIsIntact());
      }
    }
  }
}

// A weighted row counts as often; weight 1 changes no bit.
TEST_P(CrossEntropyTest, WeightsCountRows) {
  constexpr int64_t kWidth = 100;
  const std::vector<float> weights = {1, 0.25f, 3};
  const auto logits =
      TestMatrix::Uniform(3, kWidth, Random(4), 5, Layout::kSlice);
  const auto targets = Targets(3, kWidth);
  const auto run = [&](Matrix work, int64_t row, int64_t rows,
                       std::span<const float> row_weights) {
    double plain = 0;
    const double loss = CrossEntropyInPlace(
        work.Rows(row, rows),
        std::span(targets).subspan(static_cast<size_t>(row),
                                   static_cast<size_t>(rows)),
        {.label_smoothing = 0.1f, .gradient_scale = 2, .weights = row_weights},
        &plain);
    return std::pair(loss, plain);
  };
  auto weighted = CopyOf(logits), single = CopyOf(logits);
  const auto [loss, plain] = run(weighted, 0, 3, weights);
  double expected = 0, expected_plain = 0;
  for (int64_t r = 0; r < 3; ++r) {
    const float weight = weights[static_cast<size_t>(r)];
    const auto [one, one_plain] = run(single, r, 1, {});
    expected += weight * one;
    expected_plain += weight * one_plain;
    for (int64_t i = 0; i < kWidth; ++i) {
      const float g = single.view().Row(r)[i];
      EXPECT_NEAR(weighted.view().Row(r)[i], weight * g, 1e-6);
    }
  }
  EXPECT_NEAR(loss, expected, 1e-12 * expected);
  EXPECT_NEAR(plain, expected_plain, 1e-12 * expected_plain);

  const std::vector<float> ones(3, 1);
  auto with = CopyOf(logits), without = CopyOf(logits);
  EXPECT_EQ(run(with, 0, 3, ones), run(without, 0, 3, {}));
  for (int64_t r = 0; r < 3; ++r) {
    EXPECT_TRUE(std::equal(with.view().Row(r), with.view().Row(r) + kWidth,
                           without.view().Row(r)));
  }
}

TEST_P(CrossEntropyTest, GradientIsTheSlopeOfTheTwin) {
  for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 33, 100}) {
    for (const float smoothing : {0.0f, 0.1f, 0.5f}) {
      const auto logits =
          TestMatrix::Uniform(5, width, Random(1), 4, Layout::kSlice);
      const auto targets = Targets(5, width);
      auto d_logits = CopyOf(logits);
      double plain = 0;
      CrossEntropyInPlace(
          d_logits, targets,
          {.label_smoothing = smoothing, .gradient_scale = 0.25f}, &plain);
      const auto loss = [&](const DoubleMatrix& x) {
        return 0.25 * reference::CrossEntropy(x, targets, smoothing);
      };
      EXPECT_TRUE(IsGradient(
          {loss, logits.view(), DoubleMatrix(5, width), d_logits.view(), 2e-6},
          Random(2)));
    }
  }
}

TEST_P(CrossEntropyTest, GradientOfLargeLogitsIsFiniteAndSumsToZero) {
  for (const int64_t width : kWidths) {
    auto x = TestMatrix::Uniform(3, width, Random(1), 1e4f);
    double plain = 0;
    const double loss = CrossEntropyInPlace(x, Targets(3, width),
                                            {.label_smoothing = 0.1f}, &plain);
    EXPECT_TRUE(std::isfinite(loss));
    for (int64_t r = 0; r < 3; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < width; ++c) sum += x(r, c);
      EXPECT_NEAR(sum, 0, 2e-6) << width;
    }
  }
}

TEST_P(CrossEntropyTest, PanelsDoNotMatter) {
  const auto logits = TestMatrix::Uniform(5, 100, Random(3), 30);
  const auto targets = Targets(5, 100);
  auto whole = CopyOf(logits);
  double plain = 0;
  const double loss = CrossEntropyInPlace(
      whole, targets, {.label_smoothing = 0.1f}, &plain, 100);
  for (const int64_t panel : {1, 7, 16, 64, 99}) {
    auto work = CopyOf(logits);
    double panels_plain = 0;
    EXPECT_NEAR(CrossEntropyInPlace(work, targets, {.label_smoothing = 0.1f},
                                    &panels_plain, panel),
                loss, 1e-6 * loss);
    EXPECT_NEAR(panels_plain, plain, 1e-6 * plain);
    EXPECT_TRUE(IsClose(work, DoubleMatrix(whole.view()), 1e-6)) << panel;
  }
}

// A logit that is not a number shows in the loss, whatever panel it is in.
TEST_P(CrossEntropyTest, NaNShowsInTheLoss) {
  for (const int64_t place : {0, 50, 99}) {
    auto logits = TestMatrix::Uniform(1, 100, Random(3), 3);
    logits(0, place) = std::numeric_limits<float>::quiet_NaN();
    double plain = 0;
    EXPECT_TRUE(
        std::isnan(CrossEntropyInPlace(logits, Targets(1, 100), {}, &plain)));
  }
}

// Field case nan-label-smoothing: uniform output over 8 pieces costs ln 8.
TEST_P(CrossEntropyTest, UniformOutputCostsLogOfTheVocabulary) {
  for (const float smoothing : {0.0f, 0.1f, 0.9f}) {
    TestMatrix logits(4, 8);
    const std::vector<int32_t> targets = {0, 3, 7, 1};
    double plain = 0;
    const double loss = CrossEntropyInPlace(
        logits, targets, {.label_smoothing = smoothing}, &plain);
    EXPECT_NEAR(loss / 4, std::log(8.0), 1e-6);
    EXPECT_NEAR(plain / 4, std::log(8.0), 1e-6);
  }
}

TEST_P(CrossEntropyTest, PlainLossIsAddedTo) {
  TestMatrix logits(1, 2);
  const std::vector<int32_t> targets = {1};
  double plain = 10;
  CrossEntropyInPlace(logits, targets, {}, &plain);
  EXPECT_NEAR(plain, 10 + std::log(2.0), 1e-6);
}

TEST_P(CrossEntropyTest, NoRowsCostNothing) {
  TestMatrix logits(0, 5);
  double plain = 0;
  EXPECT_EQ(CrossEntropyInPlace(logits, {}, {.label_smoothing = 0.1f}, &plain),
            0);
  EXPECT_EQ(plain, 0);
}

TEST_P(CrossEntropyTest, LogSumExpEqualsItsTwin) {
  for (const int64_t width : kWidths) {
    for (const float range : {1.0f, 30.0f, 1e4f}) {
      const auto x = TestMatrix::Uniform(5, width, Random(1), range);
      for (int64_t r = 0; r < 5; ++r) {
        EXPECT_NEAR(LogSumExp(x.view().Row(r), width),
                    reference::LogSumExp(x.view(), r), 2e-6 * (1 + range));
      }
    }
  }
}

TEST_P(CrossEntropyTest, ImpossiblePiecesDoNotCountInLogSumExp) {
  TestMatrix x(1, 20);
  for (int64_t c = 0; c < 20; ++c) x(0, c) = c % 2 == 0 ? 0 : -kInfinity;
  EXPECT_NEAR(LogSumExp(x.view().data, 20), std::log(10.0), 1e-6);
}

// The row starts at another address each time.
TEST_P(CrossEntropyTest, LogSumExpDoesNotDependOnWhereTheRowLies) {
  for (const int64_t width : kWidths) {
    const auto row = TestMatrix::Uniform(1, width, Random(1), 9);
    const float expected = LogSumExp(row.view().data, width);
    for (size_t shift = 0; shift < 17; ++shift) {
      std::vector<float> memory(static_cast<size_t>(width) + 40, 99.0f);
      std::copy_n(row.view().data, width, memory.data() + shift);
      EXPECT_EQ(LogSumExp(memory.data() + shift, width), expected);
    }
  }
}

// Seen in parts, a sum is that of the whole up to rounding; where it is not
// finite so far, what comes later counts.
TEST_P(CrossEntropyTest, ExpSumsAddUpInParts) {
  auto x = TestMatrix::Uniform(3, 1000, Random(1), 20);
  for (int64_t c = 0; c < 300; ++c) x(1, c) = -kInfinity;
  for (int64_t c = 300; c < 1000; ++c) x(2, c) = -kInfinity;
  std::vector<ExpSum> sums(3);
  for (const auto& [first, count] :
       {std::pair{0, 1}, {1, 299}, {300, 0}, {300, 256}, {556, 444}}) {
    if (count > 0) AddExps(x.view().Columns(first, count), sums);
  }
  for (int64_t r = 0; r < 3; ++r) {
    EXPECT_NEAR(sums[static_cast<size_t>(r)].log_sum(),
                reference::LogSumExp(x.view(), r), 4e-5);
    EXPECT_NEAR(LogSumExp(x.view().Row(r), 1000),
                reference::LogSumExp(x.view(), r), 4e-5);
  }
}

// Chosen part after part.
std::vector<int32_t> Best(const std::vector<float>& row, size_t count,
                          size_t part) {
  std::vector<Candidate> best(count, kNoCandidate);
  for (size_t first = 0; first < row.size(); first += part) {
    SelectBest(row.data() + first,
               static_cast<int64_t>(std::min(part, row.size() - first)),
               static_cast<int32_t>(first), best);
  }
  std::vector<int32_t> ids;
  for (const Candidate& c : best) {
    if (c.id >= 0) {
      EXPECT_EQ(c.logit, row[static_cast<size_t>(c.id)]);
    }
    ids.push_back(c.id);
  }
  return ids;
}

std::vector<int32_t> Best(const std::vector<float>& row, size_t count) {
  const std::vector<int32_t> whole = Best(row, count, row.size());
  for (const size_t part : {1, 7, 64}) EXPECT_EQ(Best(row, count, part), whole);
  return whole;
}

TEST_P(CrossEntropyTest, SelectBestEqualsAStableSort) {
  Random random(5);
  for (const int64_t width : kWidths) {
    for (const uint64_t distinct : {1, 2, 10, 1000000}) {
      std::vector<float> row;
      for (int64_t i = 0; i < width; ++i) {
        row.push_back(static_cast<float>(random.Below(distinct)) - 50);
      }
      for (const size_t count : {1, 2, 5, 12, 40, 64, 65, 200}) {
        if (count > row.size()) continue;
        EXPECT_EQ(Best(row, count), reference::SelectBest(row, count));
      }
    }
  }
}

TEST_P(CrossEntropyTest, SelectBestOfRisingAndFallingRows) {
  std::vector<float> rising(100), falling(100);
  for (size_t i = 0; i < 100; ++i) {
    rising[i] = static_cast<float>(i);
    falling[i] = -static_cast<float>(i);
  }
  EXPECT_EQ(Best(rising, 3), (std::vector<int32_t>{99, 98, 97}));
  EXPECT_EQ(Best(falling, 3), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Best(rising, 100), reference::SelectBest(rising, 100));
}

TEST_P(CrossEntropyTest, SelectBestNeverChoosesNaNOrTheImpossible) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> row(40, nan);
  row[7] = -1e30f;
  row[33] = 2;
  row[34] = -kInfinity;
  EXPECT_EQ(Best(row, 4), (std::vector<int32_t>{33, 7, -1, -1}));
  row.resize(100, nan);
  std::vector<int32_t> expected(80, -1);
  expected[0] = 33;
  expected[1] = 7;
  EXPECT_EQ(Best(row, 80), expected);
}

}  // namespace
}  // namespace pipeformer
