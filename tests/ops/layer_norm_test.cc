#include "lib/ops/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidths[] = {1, 2, 3, 7, 15, 16, 17, 33, 64, 100, 512};
constexpr Layout kLayouts[] = {Layout::kDense, Layout::kSlice};

class LayerNormTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(LayerNormTest);

TEST_P(LayerNormTest, ForwardEqualsItsTwin) {
  for (const int64_t width : kWidths) {
    for (const int64_t rows : {1, 5, 70}) {
      for (const Layout layout : kLayouts) {
        SCOPED_TRACE(testing::Message() << rows << " x " << width);
        const auto src = TestMatrix::Uniform(rows, width, Random(1), 4, layout);
        const auto gain = TestMatrix::Uniform(1, width, Random(2));
        const auto bias = TestMatrix::Uniform(1, width, Random(3));
        const DoubleMatrix expected =
            reference::LayerNorm(src.view(), gain.view(), bias.view());
        TestMatrix dst(rows, width, layout), statistics(rows, 2);
        LayerNormForward(src, gain.view().data, bias.view().data, statistics,
                         dst);
        EXPECT_TRUE(IsClose(dst, expected, 2e-6));
        EXPECT_TRUE(dst.GuardIsIntact());
        TestMatrix in_place = CopyOf(src);
        LayerNormForward(in_place, gain.view().data, bias.view().data, {},
                         in_place);
        EXPECT_TRUE(HasSameBits(in_place, dst));
      }
    }
  }
}

TEST_P(LayerNormTest, ARowFarFromZeroKeepsItsShape) {
  // The deviations are a thousandth of the mean.
  auto src = TestMatrix::Uniform(3, 100, Random(1));
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 100; ++c) src(r, c) += 1000;
  }
  const auto gain = TestMatrix::Uniform(1, 100, Random(2));
  const auto bias = TestMatrix::Uniform(1, 100, Random(3));
  TestMatrix dst(3, 100);
  LayerNormForward(src, gain.view().data, bias.view().data, {}, dst);
  EXPECT_TRUE(IsClose(
      dst, reference::LayerNorm(src.view(), gain.view(), bias.view()), 2e-4));
}

TEST_P(LayerNormTest, AConstantRowBecomesTheBias) {
  for (const int64_t width : kWidths) {
    TestMatrix src(2, width);
    for (int64_t c = 0; c < width; ++c) src(1, c) = 3;
    const auto gain = TestMatrix::Uniform(1, width, Random(2));
    const auto bias = TestMatrix::Uniform(1, width, Random(3));
    TestMatrix dst(2, width);
    LayerNormForward(src, gain.view().data, bias.view().data, {}, dst);
    EXPECT_TRUE(HasSameBits(dst.view().Rows(0, 1), bias));
    EXPECT_TRUE(IsClose(dst.view().Rows(1, 1), bias.view(), 1e-3));
  }
}

TEST_P(LayerNormTest, ARowDoesNotDependOnItsNeighbours) {
  for (const int64_t width : kWidths) {
    const auto src = TestMatrix::Uniform(70, width, Random(1));
    const auto gain = TestMatrix::Uniform(1, width, Random(2));
    const auto bias = TestMatrix::Uniform(1, width, Random(3));
    TestMatrix together(70, width), alone(70, width);
    LayerNormForward(src, gain.view().data, bias.view().data, {}, together);
    for (int64_t r = 0; r < 70; ++r) {
      LayerNormForward(src.view().Rows(r, 1), gain.view().data,
                       bias.view().data, {}, alone.view().Rows(r, 1));
    }
    EXPECT_TRUE(HasSameBits(together, alone)) << width;
  }
}

TEST_P(LayerNormTest, GradientsAreSlopesOfTheTwinAndAreAdded) {
  for (const int64_t width : kWidths) {
    for (const int64_t rows : {1, 3, 33}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << width);
      const Layout layout = kLayouts[(rows + width) % 2];
      const auto m = [&](uint64_t seed, int64_t n) {
        return TestMatrix::Uniform(n, width, Random(seed), 1, layout);
      };
      const auto src = m(1, rows), d_dst = m(4, rows), d_src0 = m(5, rows);
      const auto gain = m(2, 1), bias = m(3, 1), d_gain0 = m(6, 1),
                 d_bias0 = m(7, 1);
      TestMatrix dst(rows, width, layout), statistics(rows, 2);
      LayerNormForward(src, gain.view().data, bias.view().data, statistics,
                       dst);
      auto d_src = CopyOf(d_src0), d_gain = CopyOf(d_gain0),
           d_bias = CopyOf(d_bias0);
      LayerNormBackward(src, gain.view().data, statistics, d_dst,
                        {d_src, d_gain.view().data, d_bias.view().data});
      EXPECT_TRUE(d_src.GuardIsIntact());
      auto in_place = CopyOf(d_dst), d_gain1 = CopyOf(d_gain0),
           d_bias1 = CopyOf(d_bias0);
      LayerNormBackward(
          src, gain.view().data, statistics, in_place,
          {in_place, d_gain1.view().data, d_bias1.view().data, Write::kSet});
      DoubleMatrix sum = in_place.view();
      for (size_t i = 0; i < sum.values.size(); ++i) {
        sum.values[i] += DoubleMatrix(d_src0.view()).values[i];
      }
      EXPECT_TRUE(IsClose(d_src, sum, 1e-6));
      EXPECT_TRUE(HasSameBits(d_gain1, d_gain));
      EXPECT_TRUE(HasSameBits(d_bias1, d_bias));
      const DoubleMatrix x = src.view(), g = gain.view(), b = bias.view(),
                         dy = d_dst.view();
      using reference::Dot, reference::LayerNorm;
      const auto check = [&](auto loss, const DoubleMatrix& at,
                             const TestMatrix& before,
                             const TestMatrix& after) {
        return IsGradient({loss, at, before.view(), after.view(), 5e-5},
                          Random(8));
      };
      if (width > 1) {  // one number has no deviation: slope 0, checked below
        EXPECT_TRUE(check(
            [&](const DoubleMatrix& v) { return Dot(LayerNorm(v, g, b), dy); },
            x, d_src0, d_src));
      } else {
        EXPECT_TRUE(IsClose(d_src, d_src0.view(), 1e-6));
      }
      EXPECT_TRUE(check(
          [&](const DoubleMatrix& v) { return Dot(LayerNorm(x, v, b), dy); }, g,
          d_gain0, d_gain));
      EXPECT_TRUE(check(
          [&](const DoubleMatrix& v) { return Dot(LayerNorm(x, g, v), dy); }, b,
          d_bias0, d_bias));
    }
  }
}

}  // namespace
}  // namespace pipeformer
