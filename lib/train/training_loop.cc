#include "lib/train/training_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "lib/base/error.h"
#include "lib/base/random.h"

namespace pipeformer {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

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
      const EpochBatches epoch = Epoch(position_.epoch);
      Check(!epoch.empty(), "an epoch of no pairs");
      updates_per_epoch_ = static_cast<double>(epoch.size());
      if (!saved_) saved_ = SavingProgress();
      while (position_.batch < static_cast<int64_t>(epoch.size())) {
        if (ShareDone() >= 1) return Complete();
        if (listener_.Interrupted()) {
          Save();
          return false;
        }
        Update(epoch[static_cast<size_t>(position_.batch)]);
        if (ValidationsDue() > position_.validations) {
          if (!Validate()) return true;
        } else if (SavingProgress() - *saved_ >= 1) {
          Save();
        }
      }
      ++position_.epoch;
      position_.batch = 0;
      if (ShareDone() >= 1) return Complete();
    }
    return true;
  }

 private:
  EpochBatches Epoch(int64_t number) const {
    return MakeEpoch(corpus_, options_.batcher,
                     ChanceOf(options_).Fork(static_cast<uint64_t>(number)));
  }

  double EpochsDone() const {
    return static_cast<double>(position_.epoch) +
           static_cast<double>(position_.batch) / updates_per_epoch_;
  }

  // How often `stretch` has passed since the beginning, `seconds` ago.
  double Passed(const Stretch& stretch, double seconds) const {
    if (stretch.epochs > 0) return EpochsDone() / stretch.epochs;
    if (stretch.updates > 0) {
      return static_cast<double>(trainer_.state().step) /
             static_cast<double>(stretch.updates);
    }
    if (stretch.seconds > 0) return seconds / stretch.seconds;
    return 0;
  }

  double ShareDone() const { return Passed(options_.after, position_.seconds); }

  // Grows by one from one save to the next, on this run's own clock.
  double SavingProgress() const {
    const bool timed = options_.save_freq.seconds > 0;
    return Passed(options_.save_freq, timed ? listener_.Seconds() : 0);
  }

  void CountSeconds() {
    if (options_.after.seconds > 0 || options_.valid_freq.seconds > 0) {
      position_.seconds = earlier_seconds_ + listener_.Seconds();
    }
  }

  void Update(const Batch& batch) {
    UpdateReport report;
    report.step = trainer_.state().step + 1;
    report.learning_rate =
        options_.schedule.At(report.step, std::min(1.0, ShareDone()));
    report.result = trainer_.Update(batch, report.learning_rate);
    ++position_.batch;
    CountSeconds();
    position_.validated = false;
    report.share_done = ShareDone();
    report.epochs = EpochsDone();
    listener_.Updated(report);
  }

  // Validations that should have been made by now.
  int64_t ValidationsDue() const {
    return static_cast<int64_t>(Passed(options_.valid_freq, position_.seconds));
  }

  void Save() {
    trainer_.CheckFinite();
    listener_.Save(position_);
    saved_ = SavingProgress();
  }

  // False when training should stop early.
  bool Validate() {
    trainer_.CheckFinite();
    position_.validated = true;
    position_.validations = ValidationsDue();  // one for all that were due
    const std::vector<double> values = listener_.Validate(position_);
    const std::vector<bool> is_best = Compare(values);
    const bool stalls = !values.empty() && !is_best[0];
    position_.stalled = stalls ? position_.stalled + 1 : 0;
    position_.stopped_early = options_.early_stopping > 0 &&
                              position_.stalled >= options_.early_stopping;
    KeepCheckpoint(options_.checkpoints,
                   {trainer_.state().step, values.empty() ? kNone : values[0]},
                   position_.checkpoints);
    CountSeconds();
    listener_.Validated(position_, is_best);
    saved_ = SavingProgress();
    return !position_.stopped_early;
  }

  // Takes the better of `values` into the best, and says which they are.
  std::vector<bool> Compare(const std::vector<double>& values) {
    position_.best.resize(values.size(), kNone);
    std::vector<bool> is_best;
    for (size_t m = 0; m < values.size(); ++m) {
      is_best.push_back(std::isfinite(values[m]) &&
                        values[m] > position_.best[m]);
      if (is_best[m]) position_.best[m] = values[m];
    }
    return is_best;
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
  // SavingProgress at the last save, validation or start.
  std::optional<double> saved_;
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
