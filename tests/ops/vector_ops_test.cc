#include "lib/ops/vector_ops.h"

#include <gtest/gtest.h>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

class VectorOpsTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(VectorOpsTest);

TEST_P(VectorOpsTest, AddToAddsAndSetZeroClearsTheViewAlone) {
  for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 33, 64, 100}) {
    const auto src = TestMatrix::Uniform(5, width, Random(1));
    auto dst = TestMatrix::Uniform(5, width, Random(2), 1, Layout::kSlice);
    DoubleMatrix expected = dst.view();
    const DoubleMatrix add = src.view();
    for (size_t i = 0; i < add.values.size(); ++i) {
      expected.values[i] += add.values[i];
    }
    AddTo(src, dst);
    EXPECT_TRUE(IsClose(dst, expected, 1e-6));
    SetZero(dst);
    EXPECT_TRUE(IsClose(dst, DoubleMatrix(5, width), 0));
    EXPECT_TRUE(dst.GuardIsIntact());
  }
}

TEST_P(VectorOpsTest, SetScaledScalesInPlaceToo) {
  for (const int64_t width : {1, 7, 16, 33, 100}) {
    auto src = TestMatrix::Uniform(5, width, Random(1), 1, Layout::kSlice);
    DoubleMatrix expected = src.view();
    for (double& value : expected.values) value *= -0.75;
    TestMatrix dst(5, width);
    SetScaled(src, -0.75f, dst);
    EXPECT_TRUE(IsClose(dst, expected, 1e-7));
    SetScaled(src, -0.75f, src);
    EXPECT_TRUE(HasSameBits(src, dst));
    EXPECT_TRUE(src.GuardIsIntact());
  }
}

TEST_P(VectorOpsTest, SumRowsAddsTheColumnSums) {
  const auto src = TestMatrix::Uniform(70, 33, Random(1), 1, Layout::kSlice);
  auto sum = TestMatrix::Uniform(1, 33, Random(2));
  DoubleMatrix expected = sum.view();
  const DoubleMatrix x = src.view();
  for (int64_t r = 0; r < 70; ++r) {
    for (int64_t c = 0; c < 33; ++c) expected(0, c) += x(r, c);
  }
  SumRows(src, sum.view().data);
  EXPECT_TRUE(IsClose(sum, expected, 1e-5));
}

TEST_P(VectorOpsTest, SumOfSquaresIsExactEnoughOverManyNumbers) {
  for (const int64_t count : {0, 1, 5, 16, 1023, 1024, 1025, 100000}) {
    const auto x = TestMatrix::Uniform(1, count, Random(1));
    const DoubleMatrix twin = x.view();
    const double expected = reference::Dot(twin, twin);
    EXPECT_NEAR(SumOfSquares(x.view().data, count), expected, 1e-6 * expected);
  }
}

}  // namespace
}  // namespace pipeformer
