#include "lib/ops/adam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

// Values, gradients and moments of `count` parameters.
struct Buffers {
  explicit Buffers(int64_t count)
      : values(TestMatrix::Uniform(1, count, Random(1))),
        gradients(TestMatrix::Uniform(1, count, Random(2))),
        first(1, count),
        second(1, count) {}

  AdamState state() const {
    return {values.view().data, gradients.view().data, first.view().data,
            second.view().data};
  }

  TestMatrix values, gradients, first, second;
};

class AdamTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AdamTest);

TEST_P(AdamTest, TwentyStepsEqualTheTwin) {
  for (const int64_t count : {1, 2, 3, 7, 15, 16, 17, 33, 100}) {
    Buffers b(count);
    std::vector<reference::AdamValue> twin;
    for (int64_t i = 0; i < count; ++i) twin.push_back({b.values(0, i), 0, 0});
    for (int64_t step = 1; step <= 20; ++step) {
      b.gradients = TestMatrix::Uniform(1, count, Random(100 + step));
      b.gradients(0, 0) = 0;  // a parameter without gradient stays
      const AdamOptions options{
          .learning_rate = 0.01f, .gradient_scale = 0.5f, .step = step};
      AdamUpdate(b.state(), 0, count, options);
      for (int64_t i = 0; i < count; ++i) {
        auto& t = twin[static_cast<size_t>(i)];
        t = reference::Adam(t, 0.5 * b.gradients(0, i),
                            {options.learning_rate, options.beta1,
                             options.beta2, options.epsilon, step});
        ASSERT_NEAR(b.values(0, i), t.value, 2e-6) << "step " << step;
        ASSERT_NEAR(b.first(0, i), t.first_moment, 1e-6);
        ASSERT_NEAR(b.second(0, i), t.second_moment, 1e-6);
      }
    }
  }
}

TEST_P(AdamTest, TheFirstStepMovesByTheLearningRate) {
  Buffers b(40);
  const auto before = CopyOf(b.values);
  AdamUpdate(b.state(), 0, 40, {.learning_rate = 0.25f});
  for (int64_t i = 0; i < 40; ++i) {
    const float move = std::copysign(0.25f, -b.gradients(0, i));
    EXPECT_NEAR(b.values(0, i), before.view().data[i] + move, 1e-5);
  }
}

TEST_P(AdamTest, OnlyTheRangeIsTouched) {
  Buffers b(60);
  const auto before = CopyOf(b.values);
  AdamUpdate(b.state(), 13, 47, {.learning_rate = 1});
  for (int64_t i = 0; i < 60; ++i) {
    const bool inside = i >= 13 && i < 47;
    EXPECT_EQ(b.values(0, i) != before.view().data[i], inside) << i;
    EXPECT_EQ(b.second(0, i) != 0, inside) << i;
  }
}

TEST_P(AdamTest, AverageMovesTowardsTheValues) {
  for (const int64_t count : {1, 7, 16, 33, 100}) {
    const auto values = TestMatrix::Uniform(1, count, Random(1));
    const auto before = TestMatrix::Uniform(1, count, Random(2));
    auto average = CopyOf(before);
    AverageUpdate(values.view().data, 0.75f, 0, count, average.view().data);
    reference::DoubleMatrix expected = before.view();
    const reference::DoubleMatrix v = values.view();
    for (size_t i = 0; i < v.values.size(); ++i) {
      expected.values[i] = 0.75 * expected.values[i] + 0.25 * v.values[i];
    }
    EXPECT_TRUE(IsClose(average, expected, 1e-6));
  }
}

}  // namespace
}  // namespace pipeformer
