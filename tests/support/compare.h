// Comparisons of kernel results with their twins, and of gradients with central
// differences. Each reports the worst element, not every one.
#ifndef PIPEFORMER_TESTS_SUPPORT_COMPARE_H_
#define PIPEFORMER_TESTS_SUPPORT_COMPARE_H_

#include <gtest/gtest.h>

#include <functional>

#include "lib/base/random.h"
#include "lib/tensor/matrix.h"
#include "tests/support/reference.h"

namespace pipeformer {

// Holds when |actual - expected| <= tolerance (1 + |expected|) everywhere.
testing::AssertionResult IsClose(Matrix actual,
                                 const reference::DoubleMatrix& expected,
                                 double tolerance);

// Holds when |actual - expected| <= tolerance * size, element by element; for
// sums whose terms cancel, `size` is the sum of their absolute values.
testing::AssertionResult IsCloseFor(Matrix actual,
                                    const reference::DoubleMatrix& expected,
                                    const reference::DoubleMatrix& size,
                                    double tolerance);

// Holds when both have the same shape and the same bits.
testing::AssertionResult HasSameBits(Matrix actual, Matrix expected);

// Holds when `after` - `before` is the gradient of `loss` at `x`: every single
// element of a small x, and random directions of any x, by central differences.
struct GradientCheck {
  std::function<double(const reference::DoubleMatrix&)> loss;
  reference::DoubleMatrix x;
  reference::DoubleMatrix before;  // what the gradient was added to
  reference::DoubleMatrix after;
  double tolerance = 2e-5;  // of 1 + the sum of absolute terms
};
testing::AssertionResult IsGradient(const GradientCheck& check, Random random);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_COMPARE_H_
