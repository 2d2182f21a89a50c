#include "lib/ops/panel_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

// Around tiles of 6, panels of 16, blocks of 256 and the 96 rows packed at
// once.
struct Sizes {
  int64_t rows, cols, inner;
};

std::vector<Sizes> AllSizes() {
  std::vector<Sizes> sizes = {{70, 40, 513}, {100, 17, 1030}, {5, 700, 257},
                              {49, 16, 0},   {1, 1, 512},     {0, 3, 5},
                              {7, 1100, 64}, {97, 130, 600}};
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13}) {
    for (const int64_t cols : {1, 3, 15, 16, 17, 33}) {
      for (const int64_t inner : {1, 3, 4, 18}) {
        sizes.push_back({rows, cols, inner});
      }
    }
  }
  return sizes;
}

TestMatrix Transposed(const TestMatrix& m) {
  const Matrix from = m.view();
  TestMatrix result(from.cols, from.rows, Layout::kSlice);
  for (int64_t r = 0; r < from.rows; ++r) {
    for (int64_t c = 0; c < from.cols; ++c) {
      result.view().Row(c)[r] = from.Row(r)[c];
    }
  }
  return result;
}

enum class Begin { kNothing, kBias, kOld };

// C = A B from A [rows, inner] and B^T [cols, inner] in any layout.
class Product {
 public:
  explicit Product(const Sizes& s)
      : sizes(s),
        a(TestMatrix::Uniform(s.rows, s.inner, Random(1), 1, Layout::kSlice)),
        b(TestMatrix::Uniform(s.cols, s.inner, Random(2), 1, Layout::kSlice)),
        bias(TestMatrix::Uniform(1, s.cols, Random(3))),
        old(TestMatrix::Uniform(s.rows, s.cols, Random(4), 1, Layout::kSlice)),
        a_columns_(Transposed(a)),
        b_rows_(Transposed(b)),
        packed_(PanelPackedSize(s.inner, s.cols)) {
    const Matrix m = b.view();
    PanelPack(m.data, s.inner, s.cols, m.stride, packed_.data());
  }

  TestMatrix Run(bool a_transposed, RightLayout layout, Begin begin) const {
    return Rows(0, sizes.rows, a_transposed, layout, begin);
  }

  TestMatrix Rows(int64_t first, int64_t rows, bool a_transposed,
                  RightLayout layout, Begin begin) const {
    TestMatrix c = CopyOf(old);
    const Matrix left = a_transposed ? a_columns_.view() : a.view();
    const Matrix right =
        layout == RightLayout::kPlain ? b_rows_.view() : b.view();
    const Matrix to = c.view().Rows(first, rows);
    PanelProduct({.rows = rows,
                  .cols = sizes.cols,
                  .inner = sizes.inner,
                  .a_transposed = a_transposed,
                  .b_layout = layout,
                  .accumulate = begin == Begin::kOld,
                  .bias = begin == Begin::kBias,
                  .a_stride = left.stride,
                  .b_stride = right.stride,
                  .c_stride = to.stride},
                 a_transposed ? left.data + first : left.Row(first),
                 layout == RightLayout::kPacked ? packed_.data() : right.data,
                 begin == Begin::kBias ? bias.view().data : nullptr, to.data);
    EXPECT_TRUE(c.GuardIsIntact());
    return c;
  }

  // In double precision; with `size`, of absolute values.
  DoubleMatrix Twin(Begin begin, bool size) const {
    const auto of = [&](const TestMatrix& m) {
      DoubleMatrix values = m.view();
      for (double& x : values.values) x = size ? std::abs(x) : x;
      return values;
    };
    DoubleMatrix c = reference::Linear(
        of(a), of(b), begin == Begin::kBias ? of(bias) : DoubleMatrix());
    if (begin != Begin::kOld) return c;
    const DoubleMatrix start = of(old);
    for (size_t i = 0; i < c.values.size(); ++i) c.values[i] += start.values[i];
    return c;
  }

  const Sizes sizes;
  const TestMatrix a, b, bias, old;

 private:
  const TestMatrix a_columns_, b_rows_;
  std::vector<float> packed_;
};

constexpr Begin kBegins[] = {Begin::kNothing, Begin::kBias, Begin::kOld};
constexpr RightLayout kLayouts[] = {
    RightLayout::kPlain, RightLayout::kTransposed, RightLayout::kPacked};

class PanelProductTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(PanelProductTest);

TEST_P(PanelProductTest, EqualsItsTwin) {
  for (const Sizes& s : AllSizes()) {
    SCOPED_TRACE(testing::Message()
                 << s.rows << " " << s.cols << " " << s.inner);
    const Product product(s);
    for (const Begin begin : kBegins) {
      EXPECT_TRUE(IsCloseFor(product.Run(false, RightLayout::kPlain, begin),
                             product.Twin(begin, false),
                             product.Twin(begin, true), 1e-6));
    }
  }
}

TEST_P(PanelProductTest, LayoutsDoNotChangeTheBits) {
  for (const Sizes& s : AllSizes()) {
    SCOPED_TRACE(testing::Message()
                 << s.rows << " " << s.cols << " " << s.inner);
    const Product product(s);
    for (const Begin begin : kBegins) {
      const TestMatrix expected =
          product.Run(false, RightLayout::kPlain, begin);
      for (const RightLayout layout : kLayouts) {
        for (const bool a_transposed : {false, true}) {
          EXPECT_TRUE(
              HasSameBits(product.Run(a_transposed, layout, begin), expected));
        }
      }
    }
  }
}

TEST_P(PanelProductTest, ARowDoesNotDependOnTheNumberOfRows) {
  for (const Sizes& s :
       {Sizes{70, 33, 100}, {70, 16, 1}, {70, 6, 64}, {50, 130, 600}}) {
    const Product product(s);
    const TestMatrix all =
        product.Run(false, RightLayout::kPacked, Begin::kBias);
    for (int64_t count = 1; count < s.rows; ++count) {
      const int64_t first = s.rows - count;
      EXPECT_TRUE(HasSameBits(
          product.Rows(first, count, false, RightLayout::kPacked, Begin::kBias)
              .view()
              .Rows(first, count),
          all.view().Rows(first, count)));
    }
  }
}

}  // namespace
}  // namespace pipeformer
