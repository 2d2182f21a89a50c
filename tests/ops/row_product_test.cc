#include "lib/ops/row_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidths[] = {1, 2, 3, 7, 15, 16, 17, 33, 64, 100};

DoubleMatrix Absolute(DoubleMatrix m) {
  for (double& x : m.values) x = std::abs(x);
  return m;
}

// A layer, packed, and its result for some of its 70 rows.
class Layer {
 public:
  Layer(int64_t in, int64_t out)
      : src(TestMatrix::Uniform(70, in, Random(1), 1, Layout::kSlice)),
        weights(TestMatrix::Uniform(out, in, Random(2), 1, Layout::kSlice)),
        bias(TestMatrix::Uniform(1, out, Random(3))),
        packed_(RowPackedSize(out, in)) {
    RowPack(weights, packed_.data());
  }

  TestMatrix Rows(int64_t begin, int64_t count, const float* with) const {
    TestMatrix dst(count, weights.view().rows, Layout::kSlice);
    RowProduct(src.view().Rows(begin, count), packed_.data(), with, dst);
    EXPECT_TRUE(dst.GuardIsIntact());
    return dst;
  }

  TestMatrix src, weights, bias;

 private:
  std::vector<float> packed_;
};

class RowProductTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(RowProductTest);

TEST_P(RowProductTest, EqualsItsTwin) {
  for (const int64_t in : kWidths) {
    for (const int64_t out : kWidths) {
      const Layer layer(in, out);
      const DoubleMatrix src = layer.src.view(), w = layer.weights.view();
      const DoubleMatrix bias = layer.bias.view();
      EXPECT_TRUE(IsCloseFor(
          layer.Rows(0, 70, layer.bias.view().data),
          reference::Linear(src, w, bias),
          reference::Linear(Absolute(src), Absolute(w), Absolute(bias)), 1e-6));
      EXPECT_TRUE(
          IsCloseFor(layer.Rows(0, 70, nullptr), reference::Linear(src, w, {}),
                     reference::Linear(Absolute(src), Absolute(w), {}), 1e-6));
    }
  }
}

TEST_P(RowProductTest, ARowDoesNotDependOnTheNumberOfRows) {
  for (const int64_t in : {1, 3, 64, 100}) {
    for (const int64_t out : {1, 6, 16, 33}) {
      const Layer layer(in, out);
      const float* bias = layer.bias.view().data;
      const TestMatrix all = layer.Rows(0, 70, bias);
      for (int64_t count = 1; count < 70; ++count) {
        const int64_t begin = 70 - count;
        EXPECT_TRUE(HasSameBits(layer.Rows(begin, count, bias),
                                all.view().Rows(begin, count)));
      }
    }
  }
}

TEST_P(RowProductTest, NoRowsAreNoWork) {
  EXPECT_EQ(Layer(5, 4).Rows(0, 0, nullptr).view().rows, 0);
}

}  // namespace
}  // namespace pipeformer
