// The course of a training: epochs, validation, early stopping. It knows no
// files and no clock: whoever runs it listens to what happens, validates,
// saves, and says when time is up.
#ifndef PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_
#define PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_

#include <cstdint>
#include <vector>

#include "lib/data/batcher.h"
#include "lib/data/corpus.h"
#include "lib/train/checkpoint_list.h"
#include "lib/train/schedule.h"
#include "lib/train/trainer.h"

namespace pipeformer {

// A stretch of training. At most one of the limits is set (positive).
struct Stretch {
  double epochs = 0;
  int64_t updates = 0;
  double seconds = 0;

  bool set() const { return epochs > 0 || updates > 0 || seconds > 0; }
};

// Where a training stands; with the weights and the optimiser's state, all
// that a resumed run needs to go on as if nothing had happened.
struct TrainingPosition {
  int64_t epoch = 0;  // from 0
  int64_t batch = 0;  // the next one of the epoch
  // Of training so far, all runs together; 0 where no limit is a time, so that
  // where a training stands does not depend on the clock.
  double seconds = 0;
  int64_t validations = 0;   // that have been due so far
  std::vector<double> best;  // of each metric; -infinity: none was finite
  int64_t stalled = 0;       // validations since the best of the first metric
  bool validated = true;     // nothing was learnt since the last validation
  bool stopped_early = false;
  std::vector<Checkpoint> checkpoints;  // kept, in the order of their steps
};

struct LoopOptions {
  BatcherOptions batcher;
  Schedule schedule;
  Stretch after;               // the length of the whole training
  Stretch valid_freq;          // between validations
  Stretch save_freq = {};      // between saves, where no validation comes first
  int64_t early_stopping = 0;  // validations without improvement, or 0
  CheckpointRule checkpoints = {};  // which validated weights are kept
  uint64_t seed = 1;
};

struct UpdateReport {
  int64_t step = 0;
  double learning_rate = 0;
  double share_done = 0;  // of the whole training
  double epochs = 0;      // trained so far
  UpdateResult result;
};

// What the caller does along the way.
class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  // Before the batches of an epoch are made, also when a run resumes within
  // it: the corpus may be made anew here, always the same for the same number.
  virtual void BeginEpoch(int64_t) {}
  // After every update.
  virtual void Updated(const UpdateReport& report) = 0;
  // Validates and returns the value of each metric, turned so that more is
  // better; the first one stops early. `position` is as after this validation
  // except best, stalled and checkpoints.
  virtual std::vector<double> Validate(const TrainingPosition& position) = 0;
  // After a validation, and at the end of the run: `position` is complete.
  // `is_best` says of each metric whether its value is the best so far.
  virtual void Validated(const TrainingPosition& position,
                         const std::vector<bool>& is_best) = 0;
  // Saves where the training stands; no validation is due.
  virtual void Save(const TrainingPosition& position) = 0;
  // True when the run should save and end before its time.
  virtual bool Interrupted() = 0;
  // Seconds since this run began.
  virtual double Seconds() = 0;
};

// Updates in one epoch.
int64_t UpdatesPerEpoch(const PairCorpus& corpus, const LoopOptions& options);

// Trains from `position` on and leaves it where the run ended. Validates every
// valid_freq and once at the end. Returns true when the training is complete;
// false when it was interrupted, after saving. A complete training goes on
// when `after` is raised. What is validated or saved is finite: else throws
// Divergence, as Trainer::Update does.
bool RunTraining(Trainer& trainer, const PairCorpus& corpus,
                 const LoopOptions& options, TrainingListener& listener,
                 TrainingPosition& position);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_
