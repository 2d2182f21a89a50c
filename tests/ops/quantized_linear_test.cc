#include "lib/ops/quantized_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/ops/linear.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

struct Shape {
  int64_t rows, in, out;
};

constexpr Shape kShapes[] = {{1, 1, 1},     {2, 3, 5},      {5, 16, 16},
                             {7, 33, 17},   {12, 128, 384}, {13, 127, 100},
                             {64, 256, 40}, {3, 2048, 512}, {25, 512, 1111}};

// The definition in the header, one element at a time.
TestMatrix Twin(const TestMatrix& src, const TestMatrix& weights) {
  const Matrix x = src.view(), w = weights.view();
  std::vector<int16_t> values(static_cast<size_t>(w.rows * w.cols));
  std::vector<float> scales;
  for (int64_t o = 0; o < w.rows; ++o) {
    scales.push_back(
        QuantizeWeights(w.Row(o), w.cols, values.data() + o * w.cols));
  }
  TestMatrix dst(x.rows, w.rows);
  for (int64_t r = 0; r < x.rows; ++r) {
    float largest = 0;
    for (int64_t i = 0; i < x.cols; ++i) {
      largest = std::max(largest, std::abs(x.Row(r)[i]));
    }
    const float inverse = 127 / largest;
    for (int64_t o = 0; o < w.rows; ++o) {
      int32_t sum = 0;
      for (int64_t i = 0; i < x.cols; ++i) {
        sum += static_cast<int32_t>(std::nearbyint(x.Row(r)[i] * inverse)) *
               values[static_cast<size_t>(o * w.cols + i)];
      }
      const float scale = largest / 127 * scales[static_cast<size_t>(o)];
      dst(r, o) = static_cast<float>(sum) * scale;
    }
  }
  return dst;
}

void Forward(Matrix src, Matrix weights, const float* bias, Matrix dst) {
  QuantizedRows rows;
  rows.Set(src);
  QuantizedLinearForward(rows, QuantizedWeights(weights, bias), dst);
}

class QuantizedLinear : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(QuantizedLinear);

TEST_P(QuantizedLinear, EqualsItsTwinToTheBit) {
  for (const Shape& s : kShapes) {
    for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
      SCOPED_TRACE(testing::Message()
                   << s.rows << " x " << s.in << " to " << s.out);
      const auto src = TestMatrix::Uniform(s.rows, s.in, Random(1), 3, layout);
      const auto weights =
          TestMatrix::Uniform(s.out, s.in, Random(2), 1, layout);
      auto bias = TestMatrix::Uniform(1, s.out, Random(3));
      TestMatrix dst(s.rows, s.out, layout);
      Forward(src, weights, nullptr, dst);
      TestMatrix expected = Twin(src, weights);
      EXPECT_TRUE(HasSameBits(dst, expected));
      EXPECT_TRUE(dst.GuardIsIntact());
      // The bias is added with one rounding or with two.
      Forward(src, weights, bias.view().data, dst);
      for (int64_t r = 0; r < s.rows; ++r) {
        for (int64_t o = 0; o < s.out; ++o) {
          const float sum = expected(r, o) + bias(0, o);
          EXPECT_NEAR(dst(r, o), sum, 2e-7 * (std::abs(expected(r, o)) + 1));
        }
      }
    }
  }
}

TEST_P(QuantizedLinear, ARowDoesNotDependOnItsNeighbours) {
  const auto src = TestMatrix::Uniform(70, 100, Random(1));
  const auto weights = TestMatrix::Uniform(90, 100, Random(2));
  TestMatrix together(70, 90);
  Forward(src, weights, nullptr, together);
  for (int64_t count = 1; count <= 70; ++count) {
    TestMatrix dst(count, 90);
    Forward(src.view().Rows(70 - count, count), weights, nullptr, dst);
    EXPECT_TRUE(HasSameBits(dst, together.view().Rows(70 - count, count)));
  }
}

// Rounding to 1/254 of the largest value is about 0.3 % of a typical one.
TEST_P(QuantizedLinear, IsCloseToTheLayerInFullPrecision) {
  const auto src = TestMatrix::Uniform(40, 512, Random(1));
  const auto weights = TestMatrix::Uniform(100, 512, Random(2));
  TestMatrix full(40, 100), dst(40, 100);
  LinearForward(src, weights, nullptr, nullptr, full);
  Forward(src, weights, nullptr, dst);
  double error = 0, size = 0;
  for (int64_t r = 0; r < 40; ++r) {
    for (int64_t o = 0; o < 100; ++o) {
      error += std::pow(dst(r, o) - full(r, o), 2);
      size += std::pow(full(r, o), 2);
    }
  }
  EXPECT_LT(std::sqrt(error / size), 0.008);
  EXPECT_GT(std::sqrt(error / size), 0.0008);  // it is not the layer itself
}

TEST_P(QuantizedLinear, TheLargestSumsAreExact) {
  constexpr int64_t kIn = 2048;
  TestMatrix src(2, kIn), weights(1, kIn), dst(2, 1);
  for (int64_t i = 0; i < kIn; ++i) {
    src(0, i) = 127;
    src(1, i) = -127;
    weights(0, i) = 127;
  }
  Forward(src, weights, nullptr, dst);
  EXPECT_EQ(dst(0, 0), 127 * 127 * kIn);
  EXPECT_EQ(dst(1, 0), -127 * 127 * kIn);
}

TEST_P(QuantizedLinear, RowsThatAreZeroOrNotFiniteStayAlone) {
  const auto weights = TestMatrix::Uniform(20, 30, Random(2));
  const auto bias = TestMatrix::Uniform(1, 20, Random(3));
  auto src = TestMatrix::Uniform(5, 30, Random(1));
  for (int64_t i = 0; i < 30; ++i) src(1, i) = i % 2 == 0 ? 0.0f : 1e-31f;
  src(2, 29) = std::numeric_limits<float>::quiet_NaN();
  src(3, 0) = -std::numeric_limits<float>::infinity();
  TestMatrix dst(5, 20);
  Forward(src, weights, bias.view().data, dst);
  for (int64_t o = 0; o < 20; ++o) {
    EXPECT_TRUE(std::isfinite(dst(0, o)));
    EXPECT_EQ(dst(1, o), bias.view().data[o]);
    EXPECT_TRUE(std::isnan(dst(2, o)));
    EXPECT_TRUE(std::isnan(dst(3, o)));
    EXPECT_TRUE(std::isfinite(dst(4, o)));
  }
}

// Weights of magnitudes from 1e-25 to 1e25.
TEST_P(QuantizedLinear, WeightsRoundedAgainAreTheSame) {
  constexpr int64_t kCount = 60;
  for (int exponent = -25; exponent <= 25; ++exponent) {
    auto row = TestMatrix::Uniform(1, kCount, Random(1).Fork(exponent + 30));
    for (int64_t i = 0; i < kCount; ++i) {
      row(0, i) *= std::pow(10.0f, static_cast<float>(exponent));
    }
    std::vector<int16_t> values(kCount), again(kCount);
    const float scale = QuantizeWeights(row.view().data, kCount, values.data());
    EXPECT_EQ(std::abs(*std::ranges::max_element(
                  values, {}, [](int16_t v) { return std::abs(v); })),
              127);
    for (size_t i = 0; i < values.size(); ++i) {
      const float rounded = scale * static_cast<float>(values[i]);
      float& weight = row(0, static_cast<int64_t>(i));
      EXPECT_LE(std::abs(rounded - weight), 0.501f * scale);
      weight = rounded;
    }
    EXPECT_EQ(QuantizeWeights(row.view().data, kCount, again.data()), scale);
    EXPECT_EQ(again, values);
  }
}

TEST_P(QuantizedLinear, AWeightThatIsNotFiniteMakesItsOutputNaN) {
  auto weights = TestMatrix::Uniform(3, 8, Random(1));
  weights(1, 5) = std::numeric_limits<float>::quiet_NaN();
  const auto src = TestMatrix::Uniform(1, 8, Random(2));
  TestMatrix dst(1, 3);
  Forward(src, weights, nullptr, dst);
  EXPECT_TRUE(std::isfinite(dst(0, 0)));
  EXPECT_TRUE(std::isnan(dst(0, 1)));
  EXPECT_TRUE(std::isfinite(dst(0, 2)));
}

}  // namespace
}  // namespace pipeformer
