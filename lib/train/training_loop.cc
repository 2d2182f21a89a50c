#include "lib/train/training_loop.h"

#include <algorithm>
#include <cmath>

#include "lib/base/random.h"

namespace pipeformer {
namespace {

// The chance of shuffling, apart from that of dropout.
Random ChanceOf(const LoopOptions& options) {
  return Random(options.seed).Fork(0x5075666c);
}

// One run of the loop, from where `position` stands.
class Loop {
 public:
  Loop(Trainer& trainer, const PairCorpus& corpus, const LoopOptions& options,
       TrainingListener& listener, TrainingPosition& position)
      : trainer_(trainer),
        corpus_(corpus),
        options_(options),
        listener_(listener),
        position_(position),
        earlier_seconds_(position.seconds) {}

  bool Run() {
    while (!position_.stopped_early) {
      listener_.BeginEpoch(position_.epoch);
      const std::vector<Batch> epoch = Epoch(position_.epoch);
      updates_per_epoch_ = static_cast<double>(epoch.size());
      // A resumed run may validate less often than the one before.
      position_.validations = std::min(position_.validations, ValidationsDue());
      while (position_.batch < static_cast<int64_t>(epoch.size())) {
        if (ShareDone() >= 1) return Complete();
        if (listener_.Interrupted()) return false;
        Update(epoch[static_cast<size_t>(position_.batch)]);
        if (ValidationsDue() > position_.validations && !Validate()) {
          return true;
        }
      }
      ++position_.epoch;
      position_.batch = 0;
      if (ShareDone() >= 1) return Complete();
    }
    return true;
  }

 private:
  std::vector<Batch> Epoch(int64_t number) const {
    return MakeEpoch(corpus_, options_.batcher,
                     ChanceOf(options_).Fork(static_cast<uint64_t>(number)));
  }

  double EpochsDone() const {
    return static_cast<double>(position_.epoch) +
           static_cast<double>(position_.batch) / updates_per_epoch_;
  }

  // How often `stretch` has passed since the beginning.
  double Passed(const Stretch& stretch) const {
    if (stretch.epochs > 0) return EpochsDone() / stretch.epochs;
    if (stretch.updates > 0) {
      return static_cast<double>(trainer_.state().step) /
             static_cast<double>(stretch.updates);
    }
    if (stretch.seconds > 0) return position_.seconds / stretch.seconds;
    return 0;
  }

  double ShareDone() const { return Passed(options_.after); }

  void Update(const Batch& batch) {
    UpdateReport report;
    report.step = trainer_.state().step + 1;
    report.learning_rate =
        options_.schedule.At(report.step, std::min(1.0, ShareDone()));
    report.result = trainer_.Update(batch, report.learning_rate);
    ++position_.batch;
    position_.seconds = earlier_seconds_ + listener_.Seconds();
    position_.validated = false;
    report.share_done = ShareDone();
    listener_.Updated(report);
  }

  // Validations that should have been made by now.
  int64_t ValidationsDue() const {
    return static_cast<int64_t>(Passed(options_.valid_freq));
  }

  // False when training should stop early.
  bool Validate() {
    position_.validated = true;
    position_.validations = ValidationsDue();  // one for all that were due
    const double value = listener_.Validate(position_);
    const bool is_best =
        std::isfinite(value) && (!position_.has_best || value > position_.best);
    if (is_best) {
      position_.best = value;
      position_.has_best = true;
      position_.stalled = 0;
    } else {
      ++position_.stalled;
    }
    position_.stopped_early = options_.early_stopping > 0 &&
                              position_.stalled >= options_.early_stopping;
    position_.seconds = earlier_seconds_ + listener_.Seconds();
    listener_.Validated(position_, is_best);
    return !position_.stopped_early;
  }

  bool Complete() {
    if (!position_.validated) Validate();
    return true;
  }

  Trainer& trainer_;
  const PairCorpus& corpus_;
  const LoopOptions& options_;
  TrainingListener& listener_;
  TrainingPosition& position_;
  const double earlier_seconds_;
  double updates_per_epoch_ = 1;
};

}  // namespace

int64_t UpdatesPerEpoch(const PairCorpus& corpus, const LoopOptions& options) {
  return static_cast<int64_t>(
      MakeEpoch(corpus, options.batcher, ChanceOf(options).Fork(0)).size());
}

bool RunTraining(Trainer& trainer, const PairCorpus& corpus,
                 const LoopOptions& options, TrainingListener& listener,
                 TrainingPosition& position) {
  return Loop(trainer, corpus, options, listener, position).Run();
}

}  // namespace pipeformer
