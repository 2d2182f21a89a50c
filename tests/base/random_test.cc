#include "lib/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace pipeformer {
namespace {

TEST(Random, SameSeedSameNumbersOtherForkOtherNumbers) {
  Random a(7), b(7);
  EXPECT_EQ(a.Next(), b.Next());
  EXPECT_NE(Random(7).Fork(1).Next(), Random(7).Fork(2).Next());
  EXPECT_NE(Random(7).Next(), Random(8).Next());
}

TEST(Random, NextWalksAt) {
  Random a(3);
  const Random fixed = a;
  for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(a.Next(), fixed.At(i));
}

TEST(Random, UniformHasMeanOneHalfAndVarianceOneTwelfth) {
  Random random(1);
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double u = random.Uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n - 0.25, 1.0 / 12, 0.005);
}

TEST(Shuffle, IsAPermutationThatDependsOnTheSeed) {
  std::vector<int> items(100), other(100);
  std::iota(items.begin(), items.end(), 0);
  other = items;
  Shuffle(items, Random(1));
  Shuffle(other, Random(2));
  EXPECT_NE(items, other);
  std::sort(items.begin(), items.end());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(items[i], i);
}

}  // namespace
}  // namespace pipeformer
