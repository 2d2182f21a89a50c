#include "tests/support/compare.h"

#include <cmath>
#include <cstring>

namespace pipeformer {

using reference::DoubleMatrix;

namespace {

constexpr double kStep = 1e-5;
constexpr int64_t kSmall = 48;  // elements of an x that is checked one by one
constexpr int kDirections = 3;

testing::AssertionResult ShapesDiffer(Matrix a, int64_t rows, int64_t cols) {
  return testing::AssertionFailure()
         << "shape [" << a.rows << ", " << a.cols << "] for [" << rows << ", "
         << cols << "]";
}

// The slope of the loss along `direction`.
double Slope(const GradientCheck& check, const DoubleMatrix& direction) {
  DoubleMatrix up = check.x, down = check.x;
  for (size_t i = 0; i < up.values.size(); ++i) {
    up.values[i] += kStep * direction.values[i];
    down.values[i] -= kStep * direction.values[i];
  }
  return (check.loss(up) - check.loss(down)) / (2 * kStep);
}

testing::AssertionResult AgreesAlong(const GradientCheck& check,
                                     const DoubleMatrix& direction,
                                     int64_t name) {
  double actual = 0, size = 0;
  for (size_t i = 0; i < direction.values.size(); ++i) {
    const double term =
        direction.values[i] * (check.after.values[i] - check.before.values[i]);
    actual += term;
    size += std::abs(term);
  }
  const double expected = Slope(check, direction);
  if (std::abs(actual - expected) <= check.tolerance * (1 + size)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "direction " << name << ": gradient "
                                     << actual << ", slope " << expected;
}

}  // namespace

testing::AssertionResult IsCloseFor(Matrix actual, const DoubleMatrix& expected,
                                    const DoubleMatrix& size,
                                    double tolerance) {
  if (actual.rows != expected.rows || actual.cols != expected.cols) {
    return ShapesDiffer(actual, expected.rows, expected.cols);
  }
  double worst = 0;
  int64_t row = 0, col = 0;
  for (int64_t r = 0; r < actual.rows; ++r) {
    for (int64_t c = 0; c < actual.cols; ++c) {
      double error = std::abs(actual.Row(r)[c] - expected(r, c)) /
                     (tolerance * size(r, c) + 1e-30);
      if (std::isnan(error)) error = HUGE_VAL;
      if (error > worst) worst = error, row = r, col = c;
    }
  }
  if (worst <= 1) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "[" << row << ", " << col << "] is " << actual.Row(row)[col]
         << ", not " << expected(row, col) << ": " << worst
         << " times the tolerance";
}

testing::AssertionResult IsClose(Matrix actual, const DoubleMatrix& expected,
                                 double tolerance) {
  DoubleMatrix size = expected;
  for (double& x : size.values) x = 1 + std::abs(x);
  return IsCloseFor(actual, expected, size, tolerance);
}

testing::AssertionResult HasSameBits(Matrix actual, Matrix expected) {
  if (actual.rows != expected.rows || actual.cols != expected.cols) {
    return ShapesDiffer(actual, expected.rows, expected.cols);
  }
  for (int64_t r = 0; r < actual.rows; ++r) {
    for (int64_t c = 0; c < actual.cols; ++c) {
      const float a = actual.Row(r)[c], e = expected.Row(r)[c];
      if (std::memcmp(&a, &e, sizeof(a)) == 0) continue;
      return testing::AssertionFailure() << "[" << r << ", " << c << "] is "
                                         << std::hexfloat << a << ", not " << e;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult IsGradient(const GradientCheck& check, Random random) {
  const int64_t count = check.x.rows * check.x.cols;
  if (count <= kSmall) {
    for (int64_t i = 0; i < count; ++i) {
      DoubleMatrix direction(check.x.rows, check.x.cols);
      direction.values[static_cast<size_t>(i)] = 1;
      const auto result = AgreesAlong(check, direction, i);
      if (!result) return result;
    }
  }
  for (int i = 0; i < kDirections; ++i) {
    DoubleMatrix direction(check.x.rows, check.x.cols);
    for (double& x : direction.values) x = 2 * random.Uniform() - 1;
    const auto result = AgreesAlong(check, direction, i);
    if (!result) return result;
  }
  return testing::AssertionSuccess();
}

}  // namespace pipeformer
