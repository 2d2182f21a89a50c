#include "lib/ops/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

struct Shape {
  int64_t rows, in, out;
};

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (int64_t width : {1, 2, 3, 7, 15, 16, 17, 33, 64, 100}) {
    for (int64_t rows : {1, 2, 5, 16, 63, 64, 65, 70}) {
      shapes.push_back({rows, width, 3 * width % 101});
      shapes.push_back({rows, 5 * width % 97, width});
    }
  }
  shapes.push_back({512, 64, 100});
  shapes.push_back({513, 100, 33});
  shapes.push_back({700, 17, 16});
  shapes.push_back({3, 2048, 512});
  shapes.push_back({65, 24, 1100});  // outputs of several panels
  return shapes;
}

DoubleMatrix Absolute(DoubleMatrix m) {
  for (double& x : m.values) x = std::abs(x);
  return m;
}

DoubleMatrix Transposed(const DoubleMatrix& m) {
  DoubleMatrix result(m.cols, m.rows);
  for (int64_t r = 0; r < m.rows; ++r) {
    for (int64_t c = 0; c < m.cols; ++c) result(c, r) = m(r, c);
  }
  return result;
}

// before + a b^T, and the same of absolute values.
testing::AssertionResult AddedProduct(const TestMatrix& after,
                                      const TestMatrix& before,
                                      const DoubleMatrix& a,
                                      const DoubleMatrix& b) {
  DoubleMatrix expected = reference::Linear(a, b, {});
  DoubleMatrix size = reference::Linear(Absolute(a), Absolute(b), {});
  const DoubleMatrix start = before.view();
  for (size_t i = 0; i < expected.values.size(); ++i) {
    expected.values[i] += start.values[i];
    size.values[i] += std::abs(start.values[i]);
  }
  return IsCloseFor(after, expected, size, 1e-6);
}

// Everything one layer reads, at random.
struct Layer {
  Layer(const Shape& s, Layout layout)
      : src(TestMatrix::Uniform(s.rows, s.in, Random(1), 1, layout)),
        weights(TestMatrix::Uniform(s.out, s.in, Random(2), 1, layout)),
        bias(TestMatrix::Uniform(1, s.out, Random(3))),
        d_dst(TestMatrix::Uniform(s.rows, s.out, Random(4), 1, layout)) {}

  TestMatrix src, weights, bias, d_dst;
};

class LinearTest : public testing::TestWithParam<Layout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, LinearTest,
                         testing::Values(Layout::kDense, Layout::kSlice),
                         [](const auto& info) {
                           return info.param == Layout::kDense ? "dense"
                                                               : "slice";
                         });

TEST_P(LinearTest, ForwardEqualsItsTwin) {
  for (const Shape& s : Shapes()) {
    SCOPED_TRACE(testing::Message() << s.rows << " " << s.in << " " << s.out);
    const Layer l(s, GetParam());
    const PackedWeights packed(l.weights);
    for (const PackedWeights* form :
         {static_cast<const PackedWeights*>(nullptr), &packed}) {
      for (const bool with_bias : {false, true}) {
        TestMatrix dst(s.rows, s.out, GetParam());
        LinearForward(l.src, l.weights, form,
                      with_bias ? l.bias.view().data : nullptr, dst);
        const DoubleMatrix bias =
            with_bias ? DoubleMatrix(l.bias.view()) : DoubleMatrix();
        EXPECT_TRUE(IsCloseFor(
            dst, reference::Linear(l.src.view(), l.weights.view(), bias),
            reference::Linear(Absolute(l.src.view()),
                              Absolute(l.weights.view()), Absolute(bias)),
            1e-6));
        EXPECT_TRUE(dst.GuardIsIntact());
      }
    }
  }
}

TEST_P(LinearTest, BackwardSetsOrAddsToTheSourceGradient) {
  for (const Shape& s : Shapes()) {
    SCOPED_TRACE(testing::Message() << s.rows << " " << s.in << " " << s.out);
    const Layer l(s, GetParam());
    const TestMatrix before =
        TestMatrix::Uniform(s.rows, s.in, Random(5), 1, GetParam());
    TestMatrix d_src = CopyOf(before);
    const DoubleMatrix weights = Transposed(l.weights.view());
    LinearBackward(l.src, l.weights, l.d_dst, {.d_src = d_src});
    EXPECT_TRUE(AddedProduct(d_src, before, l.d_dst.view(), weights));
    LinearBackward(l.src, l.weights, l.d_dst,
                   {.d_src = d_src, .write_src = Write::kSet});
    const TestMatrix nothing(s.rows, s.in);
    EXPECT_TRUE(AddedProduct(d_src, nothing, l.d_dst.view(), weights));
    EXPECT_TRUE(d_src.GuardIsIntact());
  }
}

TEST_P(LinearTest, BackwardAddsToTheWeightAndBiasGradients) {
  for (const Shape& s : Shapes()) {
    SCOPED_TRACE(testing::Message() << s.rows << " " << s.in << " " << s.out);
    const Layer l(s, GetParam());
    const TestMatrix before =
        TestMatrix::Uniform(s.out, s.in, Random(5), 1, GetParam());
    const TestMatrix bias_before = TestMatrix::Uniform(1, s.out, Random(6));
    TestMatrix d_weights = CopyOf(before);
    TestMatrix d_bias = CopyOf(bias_before);
    LinearBackward(l.src, l.weights, l.d_dst,
                   {.d_weights = d_weights, .d_bias = d_bias.view().data});
    const DoubleMatrix d_dst = Transposed(l.d_dst.view());
    EXPECT_TRUE(
        AddedProduct(d_weights, before, d_dst, Transposed(l.src.view())));
    EXPECT_TRUE(d_weights.GuardIsIntact());
    DoubleMatrix ones(1, s.rows);
    for (double& x : ones.values) x = 1;
    EXPECT_TRUE(AddedProduct(d_bias, bias_before, ones, d_dst));
    LinearBackward(l.src, l.weights, l.d_dst, {.d_weights = d_weights});
  }
}

TEST_P(LinearTest, GradientsAreSlopesOfTheTwin) {
  for (const Shape& s : {Shape{1, 1, 1}, {3, 5, 2}, {17, 7, 33}, {70, 16, 9}}) {
    const Layer l(s, GetParam());
    TestMatrix d_src(s.rows, s.in), d_weights(s.out, s.in), d_bias(1, s.out);
    LinearBackward(
        l.src, l.weights, l.d_dst,
        {.d_src = d_src, .d_weights = d_weights, .d_bias = d_bias.view().data});
    const DoubleMatrix src = l.src.view(), weights = l.weights.view();
    const DoubleMatrix bias = l.bias.view(), d_dst = l.d_dst.view();
    const auto check = [&](auto loss, const DoubleMatrix& x,
                           const TestMatrix& gradient) {
      return IsGradient({.loss = loss,
                         .x = x,
                         .before = DoubleMatrix(x.rows, x.cols),
                         .after = gradient.view()},
                        Random(7));
    };
    EXPECT_TRUE(check(
        [&](const DoubleMatrix& x) {
          return reference::Dot(reference::Linear(x, weights, bias), d_dst);
        },
        src, d_src));
    EXPECT_TRUE(check(
        [&](const DoubleMatrix& x) {
          return reference::Dot(reference::Linear(src, x, bias), d_dst);
        },
        weights, d_weights));
    EXPECT_TRUE(check(
        [&](const DoubleMatrix& x) {
          return reference::Dot(reference::Linear(src, weights, x), d_dst);
        },
        bias, d_bias));
  }
}

TEST(Linear, NoRowsAreNoWork) {
  const Layer l({0, 4, 3}, Layout::kDense);
  TestMatrix dst(0, 3), d_src(0, 4), d_weights(3, 4), d_bias(1, 3);
  LinearForward(l.src, l.weights, nullptr, l.bias.view().data, dst);
  LinearBackward(
      l.src, l.weights, l.d_dst,
      {.d_src = d_src, .d_weights = d_weights, .d_bias = d_bias.view().data});
  EXPECT_TRUE(IsClose(d_weights, DoubleMatrix(3, 4), 0));
  EXPECT_TRUE(IsClose(d_bias, DoubleMatrix(1, 3), 0));
}

}  // namespace
}  // namespace pipeformer
