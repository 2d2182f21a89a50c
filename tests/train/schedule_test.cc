#include "lib/train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pipeformer {
namespace {

constexpr double kNear = 1e-15;

Schedule Make(ScheduleKind kind) {
  return {.kind = kind,
          .learning_rate = 0.01,
          .warmup_updates = 100,
          .d_model = 256};
}

TEST(Schedule, InverseSquareRootRisesToThePeakAndFalls) {
  const Schedule s = Make(ScheduleKind::kInverseSqrt);
  EXPECT_NEAR(s.At(1, 0), 0.0001, kNear);
  EXPECT_NEAR(s.At(50, 0.9), 0.005, kNear);
  EXPECT_NEAR(s.At(100, 0), 0.01, kNear);
  EXPECT_NEAR(s.At(400, 0), 0.005, kNear);
  EXPECT_NEAR(s.At(10000, 1), 0.001, kNear);
}

// Vaswani et al. 2017, equation 3.
TEST(Schedule, NoamIsThePapersFormula) {
  const Schedule s = Make(ScheduleKind::kNoam);
  for (const int64_t step : {1, 50, 100, 400, 10000}) {
    const double n = static_cast<double>(step);
    const double expected =
        std::pow(256, -0.5) *
        std::min(std::pow(n, -0.5), n * std::pow(100, -1.5)) * 0.01;
    EXPECT_NEAR(s.At(step, 0.3), expected, 1e-12) << step;
  }
}

TEST(Schedule, CosineFallsToZeroAtTheEnd) {
  const Schedule s = Make(ScheduleKind::kCosine);
  EXPECT_NEAR(s.At(500, 0), 0.01, kNear);
  EXPECT_NEAR(s.At(500, 0.25), 0.01 * (1 + std::sqrt(0.5)) / 2, kNear);
  EXPECT_NEAR(s.At(500, 0.5), 0.005, kNear);
  EXPECT_NEAR(s.At(500, 1), 0, kNear);
  EXPECT_NEAR(s.At(25, 0.5), 0.00125, kNear);
}

TEST(Schedule, LinearFallsToZeroAtTheEnd) {
  const Schedule s = Make(ScheduleKind::kLinear);
  EXPECT_NEAR(s.At(500, 0), 0.01, kNear);
  EXPECT_NEAR(s.At(500, 0.75), 0.0025, kNear);
  EXPECT_NEAR(s.At(500, 1), 0, kNear);
  EXPECT_NEAR(s.At(10, 0), 0.001, kNear);
}

TEST(Schedule, ConstantStaysAfterTheWarmUp) {
  const Schedule s = Make(ScheduleKind::kConstant);
  EXPECT_NEAR(s.At(10, 0), 0.001, kNear);
  EXPECT_NEAR(s.At(100, 0), 0.01, kNear);
  EXPECT_NEAR(s.At(100000, 1), 0.01, kNear);
}

TEST(Schedule, WithoutWarmUpBeginsAtThePeak) {
  for (const ScheduleKind kind :
       {ScheduleKind::kInverseSqrt, ScheduleKind::kCosine,
        ScheduleKind::kLinear, ScheduleKind::kConstant}) {
    Schedule s = Make(kind);
    s.warmup_updates = 0;
    EXPECT_NEAR(s.At(1, 0), 0.01, kNear);
  }
}

}  // namespace
}  // namespace pipeformer
