#include "tools/train_report.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

TEST(SecondsLeft, GoesOnAtThePaceSoFar) {
  EXPECT_DOUBLE_EQ(SecondsLeft(0, 0.25, 10), 30);
  EXPECT_DOUBLE_EQ(SecondsLeft(0, 1, 10), 0);
}

// What an earlier run did took none of this run's time.
TEST(SecondsLeft, KnowsThatAResumedRunDidNotDoItAll) {
  EXPECT_DOUBLE_EQ(SecondsLeft(0.5, 0.75, 10), 10);
  EXPECT_NEAR(SecondsLeft(0.9, 0.91, 10), 90, 1e-9);
}

TEST(SecondsLeft, NobodyKnowsBeforeThereIsAPace) {
  EXPECT_LT(SecondsLeft(0, 0, 10), 0);
  EXPECT_LT(SecondsLeft(0.5, 0.5, 10), 0);
}

}  // namespace
}  // namespace pipeformer
