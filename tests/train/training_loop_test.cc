#include "lib/train/training_loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/train/divergence.h"
#include "tests/train/diary.h"

namespace pipeformer {
namespace {

using TrainingLoop = LoopTest;

TEST_F(TrainingLoop, EndsAfterItsUpdatesAndValidatesTheEnd) {
  EXPECT_TRUE(Run(Options({.updates = 7}, {.updates = 2})));
  EXPECT_EQ(diary_.steps, (Steps{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(diary_.validated, (Steps{2, 4, 6, 7}));
  EXPECT_EQ(diary_.share, 1);
}

TEST_F(TrainingLoop, DoesNotValidateTheEndTwice) {
  EXPECT_TRUE(Run(Options({.updates = 6}, {.updates = 3})));
  EXPECT_EQ(diary_.validated, (Steps{3, 6}));
}

TEST_F(TrainingLoop, EndsAfterItsEpochs) {
  const LoopOptions options = Options({.epochs = 2}, {.epochs = 1});
  const int64_t n = UpdatesPerEpoch(toy_.corpus(), options);
  EXPECT_GT(n, 5);
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.steps.size(), static_cast<size_t>(2 * n));
  EXPECT_EQ(diary_.validated, (Steps{n, 2 * n}));
  EXPECT_EQ(position_.epoch, 2);
}

TEST_F(TrainingLoop, EpochsMayBeFractions) {
  const LoopOptions options = Options({.epochs = 1.5}, {.epochs = 0.5});
  const int64_t n = UpdatesPerEpoch(toy_.corpus(), options);
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(static_cast<int64_t>(diary_.steps.size()),
            n + static_cast<int64_t>(std::ceil(0.5 * static_cast<double>(n))));
  EXPECT_EQ(diary_.validated.size(), 3u);
}

TEST_F(TrainingLoop, EndsAfterItsSecondsOfAllRunsTogether) {
  LoopOptions options = Options({.seconds = 15}, {});
  diary_.interrupt_after = 4;
  EXPECT_FALSE(Run(options));
  EXPECT_EQ(position_.seconds, 6);
  Diary second(toy_.trainer());
  EXPECT_TRUE(
      RunTraining(toy_.trainer(), toy_.corpus(), options, second, position_));
  EXPECT_EQ(toy_.trainer().state().step, 10);
}

TEST_F(TrainingLoop, StopsEarlyWhenNothingGetsBetter) {
  diary_.quality = [](size_t n) { return n == 2 ? 5.0 : 1.0; };
  LoopOptions options = Options({.updates = 100}, {.updates = 1});
  options.early_stopping = 3;
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.validated, (Steps{1, 2, 3, 4, 5}));
  EXPECT_EQ(diary_.best, (std::vector<bool>{true, true, false, false, false}));
  EXPECT_TRUE(position_.stopped_early);
  EXPECT_EQ(position_.stalled, 3);
  EXPECT_EQ(position_.best[0], 5);
  // What has stopped early stays so.
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.steps.size(), 5u);
}

TEST_F(TrainingLoop, NoValueIsBetterThanNone) {
  diary_.quality = [](size_t) { return -1e9; };
  EXPECT_TRUE(Run(Options({.updates = 2}, {.updates = 1})));
  EXPECT_EQ(diary_.best, (std::vector<bool>{true, false}));
}

TEST_F(TrainingLoop, EachMetricHasItsOwnBest) {
  const std::vector<double> first = {1, 3, 2, 3}, second = {-4, -5, -1, -1};
  diary_.quality = [&](size_t n) { return first[n - 1]; };
  diary_.second = [&](size_t n) { return second[n - 1]; };
  EXPECT_TRUE(Run(Options({.updates = 4}, {.updates = 1})));
  EXPECT_EQ(diary_.best, (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(diary_.second_best, (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(position_.best, (std::vector<double>{3, -1}));
  EXPECT_EQ(position_.stalled, 2);  // by the first one
}

TEST_F(TrainingLoop, AValueThatIsNotFiniteIsNeverTheBest) {
  diary_.quality = [](size_t n) { return n == 2 ? 1.0 : std::nan(""); };
  EXPECT_TRUE(Run(Options({.updates = 3}, {.updates = 1})));
  EXPECT_EQ(diary_.best, (std::vector<bool>{false, true, false}));
}

TEST_F(TrainingLoop, SavesBetweenValidations) {
  LoopOptions options = Options({.updates = 12}, {.updates = 5});
  options.save_freq = {.updates = 2};
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.validated, (Steps{5, 10, 12}));
  EXPECT_EQ(diary_.saved, (Steps{2, 4, 7, 9, 12}));  // two after 5 and 10 too
}

// An update takes one and a half seconds here. Where a training stands must
// not depend on them unless it is to end or validate by time.
TEST_F(TrainingLoop, SavesByTheClockWithoutKeepingIt) {
  LoopOptions options = Options({.updates = 7}, {.updates = 100});
  options.save_freq = {.seconds = 4};
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.saved, (Steps{3, 6}));
  EXPECT_EQ(position_.seconds, 0);
}

TEST_F(TrainingLoop, KeepsTheLastCheckpoints) {
  LoopOptions options = Options({.updates = 9}, {.updates = 2});
  options.checkpoints = {KeepCheckpoints::kLast, 3};
  diary_.quality = [](size_t n) { return static_cast<double>(n); };
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(position_.checkpoints,
            (std::vector<Checkpoint>{{6, 3}, {8, 4}, {9, 5}}));
}

TEST_F(TrainingLoop, DoesNotSaveWhatDiverged) {
  LoopOptions options = Options({.updates = 9}, {.updates = 1});
  options.schedule.learning_rate = 1e38;
  EXPECT_THROW(Run(options), Divergence);
  EXPECT_TRUE(diary_.validated.empty());
  EXPECT_TRUE(diary_.saved.empty());
}

TEST_F(TrainingLoop, TellsTheScheduleHowMuchIsDone) {
  LoopOptions options = Options({.updates = 4}, {});
  options.schedule.kind = ScheduleKind::kLinear;
  EXPECT_TRUE(Run(options));
  ASSERT_EQ(diary_.rates.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(diary_.rates[i], 0.01 * (1 - static_cast<double>(i) / 4),
                1e-12);
  }
}

}  // namespace
}  // namespace pipeformer
