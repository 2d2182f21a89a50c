// A training that was interrupted, or came to its end and is made longer, goes
// on as if nothing had happened.
#include <gtest/gtest.h>

#include "lib/train/training_loop.h"
#include "tests/train/diary.h"

namespace pipeformer {
namespace {

using Interruption = LoopTest;

// What is saved on the way is all that another run needs, whenever it was.
TEST_F(Interruption, GoesOnFromEverySave) {
  LoopOptions options = Options({.updates = 30}, {.updates = 4});
  options.checkpoints = {KeepCheckpoints::kLast, 3};
  options.save_freq = {.updates = 1};
  EXPECT_TRUE(Run(options));
  for (const int64_t at : {1, 3, 11, 12, 13, 24, 29}) {
    ToyTraining other({.dropout = 0.1f});
    Diary diary(other.trainer());
    diary.interrupt_after = at;
    TrainingPosition position;
    RunTraining(other.trainer(), other.corpus(), options, diary, position);
    Diary rest(other.trainer());
    TrainingPosition saved = diary.last;
    RunTraining(other.trainer(), other.corpus(), options, rest, saved);
    EXPECT_EQ(other.Values(), toy_.Values()) << at;
    EXPECT_EQ(saved.checkpoints, position_.checkpoints) << at;
    EXPECT_EQ(saved.best, position_.best) << at;
    EXPECT_EQ(saved.stalled, position_.stalled) << at;
  }
}

TEST_F(Interruption, AnInterruptedRunGoesOnWhereItStood) {
  const LoopOptions options = Options({.updates = 30}, {.updates = 8});
  ToyTraining whole({.dropout = 0.1f});
  Diary expected(whole.trainer());
  TrainingPosition end;
  RunTraining(whole.trainer(), whole.corpus(), options, expected, end);
  for (const int64_t at : {5, 17, 24, 29}) {
    diary_.interrupt_after = at;
    EXPECT_FALSE(Run(options));
    EXPECT_EQ(toy_.trainer().state().step, at);
    EXPECT_FALSE(position_.stopped_early);
    EXPECT_EQ(diary_.saved.back(), at);
  }
  diary_.interrupt_after = 1 << 30;
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.steps, expected.steps);
  EXPECT_EQ(diary_.losses, expected.losses);
  EXPECT_EQ(diary_.validated, expected.validated);
  EXPECT_EQ(toy_.Values(), whole.Values());
  EXPECT_EQ(position_.epoch, end.epoch);
  EXPECT_EQ(position_.batch, end.batch);
  EXPECT_EQ(position_.validations, end.validations);
}

// Field case res-epoch-edge: after the last batch of an epoch comes the first
// of the next one.
TEST_F(Interruption, GoesOnAfterTheLastBatchOfAnEpoch) {
  const LoopOptions options = Options({.epochs = 2}, {.epochs = 1});
  const int64_t n = UpdatesPerEpoch(toy_.corpus(), options);
  diary_.interrupt_after = n;
  EXPECT_FALSE(Run(options));
  EXPECT_EQ(position_.epoch, 1);
  EXPECT_EQ(position_.batch, 0);
  diary_.interrupt_after = 1 << 30;
  EXPECT_TRUE(Run(options));
  EXPECT_EQ(diary_.steps.size(), static_cast<size_t>(2 * n));
  EXPECT_EQ(diary_.validated, (Steps{n, 2 * n}));
}

// Field cases res-lr and res-step: step and rate go on.
TEST_F(Interruption, TheRateGoesOnAfterAnInterruption) {
  LoopOptions options = Options({.updates = 201}, {.updates = 1000});
  options.schedule = {.learning_rate = 1e-3, .warmup_updates = 100};
  diary_.interrupt_after = 150;
  EXPECT_FALSE(Run(options));
  Diary second(toy_.trainer());
  EXPECT_TRUE(
      RunTraining(toy_.trainer(), toy_.corpus(), options, second, position_));
  EXPECT_EQ(second.steps.front(), 151);
  EXPECT_NEAR(second.rates[200 - 151], 7.071068e-4, 1e-10);
}

// Interrupted when all updates are made: the end must not be forgotten.
TEST_F(Interruption, ValidatesTheEndAlsoWhenInterruptedThere) {
  diary_.interrupt_after = 5;
  EXPECT_TRUE(Run(Options({.updates = 5}, {.updates = 10})));
  EXPECT_EQ(diary_.validated, (Steps{5}));
}

TEST_F(Interruption, ValidatesWhatAShorterRunLeaves) {
  diary_.interrupt_after = 5;
  EXPECT_FALSE(Run(Options({.updates = 9}, {.updates = 10})));
  EXPECT_TRUE(Run(Options({.updates = 4}, {.updates = 10})));
  EXPECT_EQ(diary_.validated, (Steps{5}));
}

// A longer --after continues a training that came to its end, and finds the
// same validations due as if there had been no end.
TEST_F(Interruption, ALongerTrainingContinuesAShorterOne) {
  EXPECT_TRUE(Run(Options({.updates = 5}, {.updates = 4})));
  EXPECT_EQ(diary_.validated, (Steps{4, 5}));
  EXPECT_TRUE(Run(Options({.updates = 5}, {.updates = 4})));
  EXPECT_EQ(diary_.validated, (Steps{4, 5}));  // nothing is left to do
  EXPECT_TRUE(Run(Options({.updates = 13}, {.updates = 4})));
  EXPECT_EQ(diary_.validated, (Steps{4, 5, 8, 12, 13}));
  ToyTraining whole({.dropout = 0.1f});
  Diary expected(whole.trainer());
  TrainingPosition end;
  RunTraining(whole.trainer(), whole.corpus(),
              Options({.updates = 13}, {.updates = 4}), expected, end);
  EXPECT_EQ(diary_.losses, expected.losses);
  EXPECT_EQ(toy_.Values(), whole.Values());
}

}  // namespace
}  // namespace pipeformer
