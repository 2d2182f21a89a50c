#include "lib/ops/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr Activation kActivations[] = {Activation::kRelu, Activation::kGelu,
                                       Activation::kSwish};

class ActivationTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(ActivationTest);

TEST_P(ActivationTest, ForwardEqualsItsTwin) {
  for (const Activation activation : kActivations) {
    for (const int64_t width : {1, 2, 3, 7, 15, 16, 17, 33, 64, 100}) {
      for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
        const auto src = TestMatrix::Uniform(9, width, Random(1), 6, layout);
        TestMatrix dst(9, width, layout);
        ActivationForward(src, activation, {}, dst);
        EXPECT_TRUE(
            IsClose(dst, reference::Activate(src.view(), activation), 1e-6));
        EXPECT_TRUE(dst.GuardIsIntact());
        auto in_place = CopyOf(src);
        ActivationForward(in_place, activation, {}, in_place);
        EXPECT_TRUE(HasSameBits(in_place, dst));
      }
    }
  }
}

TEST_P(ActivationTest, LargeInputsStayFiniteAndRight) {
  constexpr float kInputs[] = {0,     20,     -20,   88,    -88,  104,
                               -105,  -150,   200,   -200,  1e4f, -1e4f,
                               1e20f, -1e20f, 3e38f, -3e38f};
  constexpr int64_t kCount = std::size(kInputs);
  for (const Activation activation : kActivations) {
    TestMatrix src(1, kCount), dst(1, kCount), d_src(1, kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      src(0, i) = kInputs[i];
      d_src(0, i) = 1;
    }
    ActivationForward(src, activation, {}, dst);
    EXPECT_TRUE(
        IsClose(dst, reference::Activate(src.view(), activation), 1e-6));
    ActivationBackward(src, activation, {}, d_src);
    for (int64_t i = 1; i < kCount; ++i) {
      EXPECT_NEAR(d_src(0, i), kInputs[i] > 0 ? 1 : 0, 1e-6) << kInputs[i];
    }
  }
}

TEST_P(ActivationTest, NaNIsNotHidden) {
  for (const Activation activation : {Activation::kGelu, Activation::kSwish}) {
    TestMatrix src(1, 17), dst(1, 17);
    for (int64_t i = 0; i < 17; ++i) {
      src(0, i) = std::numeric_limits<float>::quiet_NaN();
    }
    ActivationForward(src, activation, {}, dst);
    for (int64_t i = 0; i < 17; ++i) EXPECT_TRUE(std::isnan(dst(0, i))) << i;
  }
}

// Where an op keeps its elements, found by running it on inputs it maps to 1.
DoubleMatrix Kept(Dropout dropout, int64_t rows, int64_t cols) {
  TestMatrix ones(rows, cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) ones(r, c) = 1;
  }
  ActivationForward(ones, Activation::kRelu, dropout, ones);
  return ones.view();
}

TEST_P(ActivationTest, DropoutFallsOnTheResult) {
  const Dropout dropout{.probability = 0.3f, .key = 77};
  for (const Activation activation : kActivations) {
    const auto src = TestMatrix::Uniform(33, 17, Random(1), 3);
    TestMatrix dst(33, 17);
    ActivationForward(src, activation, dropout, dst);
    EXPECT_TRUE(
        IsClose(dst,
                reference::Drop(reference::Activate(src.view(), activation),
                                Kept(dropout, 33, 17), 0.3f),
                1e-6));
  }
}

TEST_P(ActivationTest, GradientsAreSlopesOfTheTwin) {
  for (const Activation activation : kActivations) {
    for (const int64_t width : {1, 3, 16, 33, 100}) {
      for (const float probability : {0.0f, 0.4f}) {
        const Dropout dropout{.probability = probability, .key = 5};
        const auto src =
            TestMatrix::Uniform(7, width, Random(1), 3, Layout::kSlice);
        const auto d_dst = TestMatrix::Uniform(7, width, Random(2));
        auto d_src = CopyOf(d_dst);
        ActivationBackward(src, activation, dropout, d_src);
        const DoubleMatrix kept = Kept(dropout, 7, width);
        const auto loss = [&](const DoubleMatrix& x) {
          return reference::Dot(
              reference::Drop(reference::Activate(x, activation), kept,
                              probability),
              d_dst.view());
        };
        EXPECT_TRUE(IsGradient(
            {loss, src.view(), DoubleMatrix(7, width), d_src.view(), 1e-5},
            Random(4)));
        if (activation != Activation::kRelu) continue;
        TestMatrix result(7, width);
        ActivationForward(src, activation, dropout, result);
        auto from_result = CopyOf(d_dst);
        ActivationBackward(result, activation, dropout, from_result);
        EXPECT_TRUE(HasSameBits(from_result, d_src));
      }
    }
  }
}

}  // namespace
}  // namespace pipeformer
