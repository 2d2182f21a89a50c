// The course of a training: epochs, validation, early stopping. It knows no
// files and no clock: whoever runs it listens to what happens, validates,
// saves, and says when time is up.
#ifndef PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_
#define PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_

#include <cstdint>
#include <vector>

#include "lib/data/batcher.h"
#include "lib/data/corpus.h"
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
  int64_t epoch = 0;        // from 0
  int64_t batch = 0;        // the next one of the epoch
  double seconds = 0;       // of training so far, all runs together
  int64_t validations = 0;  // that have been due so far
  double best = 0;          // value of the first metric, where better is more
  bool has_best = false;
  int64_t stalled = 0;    // validations since the best
  bool validated = true;  // nothing was learnt since the last validation
  bool stopped_early = false;
};

struct LoopOptions {
  BatcherOptions batcher;
  Schedule schedule;
  Stretch after;               // the length of the whole training
  Stretch valid_freq;          // between validations
  int64_t early_stopping = 0;  // validations without improvement, or 0
  uint64_t seed = 1;
};

struct UpdateReport {
  int64_t step = 0;
  double learning_rate = 0;
  double share_done = 0;  // of the whole training
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
  // Validates and returns the value of the first metric, turned so that more
  // is better. `position` is as after this validation except best and stalled.
  virtual double Validate(const TrainingPosition& position) = 0;
  // After a validation, and at the end of the run: `position` is complete.
  virtual void Validated(const TrainingPosition& position, bool is_best) = 0;
  // True when the run should save and end before its time.
  virtual bool Interrupted() = 0;
  // Seconds since this run began.
  virtual double Seconds() = 0;
};

// Updates in one epoch.
int64_t UpdatesPerEpoch(const PairCorpus& corpus, const LoopOptions& options);

// Trains from `position` on and leaves it where the run ended. Validates every
// valid_freq and once at the end. Returns true when the training is complete,
// false when it was interrupted. A complete training goes on when `after` is
// raised.
bool RunTraining(Trainer& trainer, const PairCorpus& corpus,
                 const LoopOptions& options, TrainingListener& listener,
                 TrainingPosition& position);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_TRAINING_LOOP_H_
