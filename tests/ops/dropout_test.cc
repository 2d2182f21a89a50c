#include "lib/ops/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidths[] = {1, 2, 3, 7, 15, 16, 17, 33, 64, 100};

// 1 / (1 - p) where an element stays, else 0: dropout of ones.
TestMatrix Mask(Dropout dropout, int64_t rows, int64_t cols) {
  TestMatrix m(rows, cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) m(r, c) = 1;
  }
  DropoutAddForward(m, {}, dropout, m);
  return m;
}

double FractionKept(const DoubleMatrix& mask) {
  double kept = 0;
  for (const double x : mask.values) kept += x != 0;
  return kept / static_cast<double>(mask.values.size());
}

// Of two masks, the fraction of elements on which they agree.
double Agreement(const DoubleMatrix& a, const DoubleMatrix& b) {
  double same = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    same += a.values[i] == b.values[i];
  return same / static_cast<double>(a.values.size());
}

class DropoutTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(DropoutTest);

TEST_P(DropoutTest, KeepsTheRightFractionAndScalesIt) {
  for (const float p : {0.01f, 0.1f, 0.3f, 0.5f, 0.9f, 0.99f}) {
    const DoubleMatrix mask = Mask({p, 11}, 400, 257).view();
    const double deviation = std::sqrt(p * (1 - p) / (400.0 * 257.0));
    EXPECT_NEAR(FractionKept(mask), 1 - p, 5 * deviation);
    for (const double x : mask.values) {
      if (x != 0) {
        ASSERT_NEAR(x, 1 / (1 - p), 1e-5 * x);
      }
    }
  }
}

TEST_P(DropoutTest, EveryRowAndColumnKeepsItsShare) {
  const DoubleMatrix mask = Mask({0.5f, 3}, 300, 300).view();
  const double limit = 5 * std::sqrt(0.25 / 300);
  for (int64_t i = 0; i < 300; ++i) {
    double row = 0, col = 0, diagonal = 0;
    for (int64_t j = 0; j < 300; ++j) {
      row += mask(i, j) != 0;
      col += mask(j, i) != 0;
      diagonal += mask(j, (i + j) % 300) != 0;
    }
    EXPECT_NEAR(row / 300, 0.5, limit);
    EXPECT_NEAR(col / 300, 0.5, limit);
    EXPECT_NEAR(diagonal / 300, 0.5, limit);
  }
}

TEST_P(DropoutTest, SameKeySameMaskOtherKeyOtherMask) {
  const auto first = Mask({0.5f, 42}, 100, 100);
  EXPECT_TRUE(HasSameBits(Mask({0.5f, 42}, 100, 100), first));
  const double limit = 5 * std::sqrt(0.25 / 1e4);
  for (const uint64_t key :
       {uint64_t{43}, uint64_t{0}, uint64_t{42} << 32, ~uint64_t{42}}) {
    const auto other = Mask({0.5f, key}, 100, 100);
    EXPECT_NEAR(Agreement(first.view(), other.view()), 0.5, limit) << key;
  }
}

TEST_P(DropoutTest, NeighbouringElementsAreIndependent) {
  const auto mask = Mask({0.5f, 42}, 100, 101);
  const double limit = 5 * std::sqrt(0.25 / 1e4);
  const Matrix m = mask.view();
  EXPECT_NEAR(Agreement(m.Columns(0, 100), m.Columns(1, 100)), 0.5, limit);
  EXPECT_NEAR(Agreement(m.Rows(0, 99), m.Rows(1, 99)), 0.5, limit);
}

TEST_P(DropoutTest, ForwardEqualsItsTwin) {
  for (const int64_t width : kWidths) {
    for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
      const Dropout dropout{.probability = 0.25f, .key = 9};
      const auto src = TestMatrix::Uniform(13, width, Random(1), 1, layout);
      const auto residual =
          TestMatrix::Uniform(13, width, Random(2), 1, layout);
      TestMatrix dst(13, width, layout);
      DropoutAddForward(src, residual, dropout, dst);
      const DoubleMatrix mask = Mask(dropout, 13, width).view();
      DoubleMatrix expected = reference::Drop(src.view(), mask, 0.25);
      const DoubleMatrix add = residual.view();
      for (size_t i = 0; i < add.values.size(); ++i) {
        expected.values[i] += add.values[i];
      }
      EXPECT_TRUE(IsClose(dst, expected, 1e-6));
      EXPECT_TRUE(dst.GuardIsIntact());
      auto over_src = CopyOf(src), over_residual = CopyOf(residual);
      DropoutAddForward(over_src, residual, dropout, over_src);
      DropoutAddForward(src, over_residual, dropout, over_residual);
      EXPECT_TRUE(HasSameBits(over_src, dst));
      EXPECT_TRUE(HasSameBits(over_residual, dst));
    }
  }
}

TEST_P(DropoutTest, BackwardSetsOrAddsWithTheMaskOfForward) {
  for (const int64_t width : kWidths) {
    const Dropout dropout{.probability = 0.6f, .key = uint64_t{1} << 40};
    const auto d_dst =
        TestMatrix::Uniform(21, width, Random(1), 1, Layout::kSlice);
    const auto before = TestMatrix::Uniform(21, width, Random(2));
    auto d_src = CopyOf(before);
    DropoutBackward(d_dst, dropout, Write::kAdd, d_src);
    DoubleMatrix expected =
        reference::Drop(d_dst.view(), Mask(dropout, 21, width).view(), 0.6f);
    auto in_place = CopyOf(d_dst);
    DropoutBackward(in_place, dropout, Write::kSet, in_place);
    EXPECT_TRUE(IsClose(in_place, expected, 1e-6));
    EXPECT_TRUE(in_place.GuardIsIntact());
    const DoubleMatrix start = before.view();
    for (size_t i = 0; i < start.values.size(); ++i) {
      expected.values[i] += start.values[i];
    }
    EXPECT_TRUE(IsClose(d_src, expected, 1e-6));
  }
}

TEST_P(DropoutTest, ProbabilityZeroIsTheIdentity) {
  const auto src = TestMatrix::Uniform(5, 17, Random(1));
  TestMatrix dst(5, 17);
  DropoutAddForward(src, {}, {}, dst);
  EXPECT_TRUE(HasSameBits(dst, src));
}

}  // namespace
}  // namespace pipeformer
