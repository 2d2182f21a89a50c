#include "lib/train/training_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lib/train/divergence.h"
#include "tests/train/toy_training.h"

namespace pipeformer {
namespace {

// Writes down what happens; each update takes one and a half seconds.
class Diary : public TrainingListener {
 public:
  explicit Diary(Trainer& trainer)
      : trainer_(trainer), first_(trainer.state().step) {}

  void Updated(const UpdateReport& report) override {
    steps.push_back(report.step);
    losses.push_back(report.result.loss.plain);
    rates.push_back(report.learning_rate);
    share = report.share_done;
  }
  std::vector<double> Validate(const TrainingPosition&) override {
    validated.push_back(trainer_.state().step);
    const double value = quality ? quality(validated.size()) : 0;
    return {value, second ? second(validated.size()) : value};
  }
  void Validated(const TrainingPosition& position,
                 const std::vector<bool>& is_best) override {
    best.push_back(is_best[0]);
    second_best.push_back(is_best[1]);
    last = position;
  }
  void Save(const TrainingPosition& position) override {
    saved.push_back(trainer_.state().step);
    last = position;
  }
  bool Interrupted() override {
    return trainer_.state().step >= interrupt_after;
  }
  double Seconds() override {
    return 1.5 * static_cast<double>(trainer_.state().step - first_);
  }

  std::vector<int64_t> steps, validated, saved;
  std::vector<double> losses, rates;
  std::vector<bool> best, second_best;
  TrainingPosition last;
  double share = 0;
  int64_t interrupt_after = 1 << 30;
  std::function<double(size_t)> quality, second;  // of the nth validation

 private:
  Trainer& trainer_;
  int64_t first_;
};

// Batches of all 200 pairs make about twelve updates an epoch.
LoopOptions Options(Stretch after, Stretch valid_freq) {
  return {.batcher = {.batch_rows = 128},
          .schedule = {.kind = ScheduleKind::kConstant,
                       .learning_rate = 0.01,
                       .warmup_updates = 0},
          .after = after,
          .valid_freq = valid_freq};
}

class TrainingLoop : public testing::Test {
 protected:
  bool Run(const LoopOptions& options) {
    return RunTraining(toy_.trainer(), toy_.corpus(), options, diary_,
                       position_);
  }

  ToyTraining toy_{{.dropout = 0.1f}};
  Diary diary_{toy_.trainer()};
  TrainingPosition position_;
};

using Steps = std::vector<int64_t>;

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

// What is saved on the way is all that another run needs, whenever it was.
TEST_F(TrainingLoop, GoesOnFromEverySave) {
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

TEST_F(TrainingLoop, AnInterruptedRunGoesOnWhereItStood) {
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
TEST_F(TrainingLoop, GoesOnAfterTheLastBatchOfAnEpoch) {
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
TEST_F(TrainingLoop, TheRateGoesOnAfterAnInterruption) {
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
TEST_F(TrainingLoop, ValidatesTheEndAlsoWhenInterruptedThere) {
  diary_.interrupt_after = 5;
  EXPECT_TRUE(Run(Options({.updates = 5}, {.updates = 10})));
  EXPECT_EQ(diary_.validated, (Steps{5}));
}

TEST_F(TrainingLoop, ValidatesWhatAShorterRunLeaves) {
  diary_.interrupt_after = 5;
  EXPECT_FALSE(Run(Options({.updates = 9}, {.updates = 10})));
  EXPECT_TRUE(Run(Options({.updates = 4}, {.updates = 10})));
  EXPECT_EQ(diary_.validated, (Steps{5}));
}

// A longer --after continues a training that came to its end, and finds the
// same validations due as if there had been no end.
TEST_F(TrainingLoop, ALongerTrainingContinuesAShorterOne) {
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
