// A training of the toy network of which everything is written down.
#ifndef PIPEFORMER_TESTS_TRAIN_DIARY_H_
#define PIPEFORMER_TESTS_TRAIN_DIARY_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/train/training_loop.h"
#include "tests/train/toy_training.h"

namespace pipeformer {

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
inline LoopOptions Options(Stretch after, Stretch valid_freq) {
  return {.batcher = {.batch_rows = 128},
          .schedule = {.kind = ScheduleKind::kConstant,
                       .learning_rate = 0.01,
                       .warmup_updates = 0},
          .after = after,
          .valid_freq = valid_freq};
}

class LoopTest : public testing::Test {
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

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_TRAIN_DIARY_H_
