// Rotary positions against complex numbers in double precision, and the law
// that they stand on: a product of query and key depends on the distance alone.
#include "lib/ops/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "lib/ops/embedding.h"
#include "tests/support/compare.h"
#include "tests/support/reference.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kLongest = 600;

struct Shape {
  int64_t num_heads, head_dim;
};
constexpr Shape kShapes[] = {{1, 2},  {3, 2},  {1, 6}, {2, 10},
                             {5, 16}, {2, 34}, {8, 64}};

TestMatrix Angles(int64_t head_dim) {
  TestMatrix angles(kLongest, head_dim);
  SinusoidalPositions(angles);
  return angles;
}

std::vector<int32_t> SomePositions() { return {0, 1, 2, 3, 0, 17, 599, 250}; }

TEST(Rotary, ForwardEqualsItsTwin) {
  for (const auto& [num_heads, head_dim] : kShapes) {
    for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
      const TestMatrix angles = Angles(head_dim);
      const std::vector<int32_t> position = SomePositions();
      TestMatrix x =
          TestMatrix::Uniform(8, num_heads * head_dim, Random(1), 1, layout);
      const DoubleMatrix expected =
          reference::Rotary(x.view(), position, head_dim);
      RotaryForward(position, angles, x);
      EXPECT_TRUE(x.GuardIsIntact());
      EXPECT_TRUE(IsClose(x, expected, 1e-6)) << num_heads << " x " << head_dim;
    }
  }
}

TEST(Rotary, BackwardTurnsBack) {
  for (const auto& [num_heads, head_dim] : kShapes) {
    const TestMatrix angles = Angles(head_dim);
    const std::vector<int32_t> position = SomePositions();
    TestMatrix x = TestMatrix::Uniform(8, num_heads * head_dim, Random(2));
    const DoubleMatrix before = x.view();
    RotaryForward(position, angles, x);
    RotaryBackward(position, angles, x);
    EXPECT_TRUE(IsClose(x, before, 1e-6)) << num_heads << " x " << head_dim;
  }
}

TEST(Rotary, BackwardEqualsCentralDifferences) {
  for (const auto& [num_heads, head_dim] : kShapes) {
    const TestMatrix angles = Angles(head_dim);
    const std::vector<int32_t> position = SomePositions();
    const int64_t width = num_heads * head_dim;
    const DoubleMatrix x = TestMatrix::Uniform(8, width, Random(3)).view();
    TestMatrix gradient =
        TestMatrix::Uniform(8, width, Random(4), 1, Layout::kSlice);
    const DoubleMatrix d_dst = gradient.view();
    RotaryBackward(position, angles, gradient);
    EXPECT_TRUE(gradient.GuardIsIntact());
    const auto loss = [&](const DoubleMatrix& at) {
      return reference::Dot(reference::Rotary(at, position, head_dim), d_dst);
    };
    EXPECT_TRUE(IsGradient({loss, x, DoubleMatrix(8, width), gradient.view()},
                           Random(5)));
  }
}

TEST(Rotary, ProductsDependOnTheDistanceAlone) {
  constexpr int64_t kWidth = 16;
  const TestMatrix angles = Angles(kWidth);
  const TestMatrix query = TestMatrix::Uniform(1, kWidth, Random(6));
  const TestMatrix key = TestMatrix::Uniform(1, kWidth, Random(7));
  const auto product = [&](int32_t query_at, int32_t key_at) {
    TestMatrix q = CopyOf(query), k = CopyOf(key);
    RotaryForward(std::vector{query_at}, angles, q);
    RotaryForward(std::vector{key_at}, angles, k);
    return reference::Dot(q.view(), k.view());
  };
  for (const int32_t distance : {0, 1, 5, 40, 300}) {
    const double first = product(distance, 0);
    for (const int32_t moved : {1, 2, 30, 299}) {
      EXPECT_NEAR(product(distance + moved, moved), first, 2e-5) << distance;
    }
  }
  EXPECT_GT(std::abs(product(1, 0) - product(0, 1)),
            0.01);  // but it has a sign
  EXPECT_GT(std::abs(product(1, 0) - product(5, 0)), 0.01);
}

TEST(Rotary, ARowIsTheSameAloneAndInABatch) {
  const TestMatrix angles = Angles(10);
  std::vector<int32_t> position(50);
  std::iota(position.begin(), position.end(), 3);
  const TestMatrix x = TestMatrix::Uniform(50, 30, Random(8));
  TestMatrix together = CopyOf(x);
  RotaryForward(position, angles, together);
  TestMatrix alone = CopyOf(x);
  for (size_t r = 0; r < 50; ++r) {
    RotaryForward({&position[r], 1}, angles,
                  alone.view().Rows(static_cast<int64_t>(r), 1));
  }
  EXPECT_TRUE(HasSameBits(alone, together));
}

}  // namespace
}  // namespace pipeformer
