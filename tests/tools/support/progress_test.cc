#include "tools/support/progress.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

TEST(Progress, TextSaysHowFarAndHowLong) {
  EXPECT_EQ(ProgressText(1200, std::nullopt, "lines", 3),
            "1200 lines  400.0/s");
  EXPECT_EQ(ProgressText(5000000, 15000000, "lines", 2.0),
            "5000000/15000000 lines  2.5M/s  0:04 left");
  EXPECT_EQ(ProgressText(10, 6000, "steps", 1),
            "10/6000 steps  10.0/s  9:59 left");
  EXPECT_EQ(ProgressText(0, 10, "steps", 0), "0/10 steps  0.0/s");
}

TEST(Progress, ClockHasHoursWhereThereAreAny) {
  EXPECT_EQ(ClockText(0), "0:00");
  EXPECT_EQ(ClockText(7.9), "0:07");
  EXPECT_EQ(ClockText(754), "12:34");
  EXPECT_EQ(ClockText(3723), "1:02:03");
  EXPECT_EQ(ClockText(360000), "100:00:00");
  EXPECT_EQ(ClockText(1e300), "1000000:00:00");
}

}  // namespace
}  // namespace pipeformer
