#include "lib/tensor/matrix.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

TEST(Matrix, SlicesOfSlicesNameTheSameFloats) {
  float data[6 * 10];
  for (int i = 0; i < 60; ++i) data[i] = static_cast<float>(i);
  const Matrix m = DenseMatrix(data, 6, 10);
  const Matrix slice = m.Rows(2, 3).Columns(4, 5).Columns(1, 2).Rows(1, 1);
  EXPECT_EQ(slice.rows, 1);
  EXPECT_EQ(slice.cols, 2);
  EXPECT_EQ(slice.size(), 2);
  EXPECT_EQ(slice.stride, 10);
  EXPECT_EQ(slice.Row(0)[0], 35);
  EXPECT_EQ(slice.Row(0)[1], 36);
}

TEST(Matrix, AnAbsentMatrixStaysAbsentWhenSliced) {
  const Matrix absent{nullptr, 4, 6, 6};
  EXPECT_EQ(absent.Columns(2, 2).data, nullptr);
  EXPECT_EQ(absent.Rows(2, 2).data, nullptr);
}

}  // namespace
}  // namespace pipeformer
