// One update of the network: a batch is divided into shards that fit the
// cache, workers run them forward and backward into gradients of their own,
// the gradients are summed in a fixed order, clipped, and given to Adam.
// Same seed, threads and build: same numbers. Several processes divide the
// shards of the same batch among their workers, add up their gradients and make
// the same step.
#ifndef PIPEFORMER_LIB_TRAIN_TRAINER_H_
#define PIPEFORMER_LIB_TRAIN_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/random.h"
#include "lib/base/worker_pool.h"
#include "lib/data/batcher.h"
#include "lib/data/corpus.h"
#include "lib/nn/guided_alignment.h"
#include "lib/nn/pair_batch.h"
#include "lib/nn/profile.h"
#include "lib/nn/ragged.h"
#include "lib/nn/transformer.h"
#include "lib/train/communicator.h"

namespace pipeformer {

struct TrainerOptions {
  float label_smoothing = 0.1f;
  double clip_norm = 1.0;  // of all gradients together; 0 switches it off
  float beta1 = 0.9f;      // Vaswani et al. 2017, section 5.3
  float beta2 = 0.98f;
  float epsilon = 1e-9f;
  float exponential_smoothing = 0;     // decay of the averaged weights, or 0
  int64_t shard_rows = 2048;           // source and target rows run together
  Predict predict = Predict::kTarget;  // what the loss of a pair counts
  GuideOptions guide = {};             // of pairs with an alignment
  uint64_t seed = 1;
};

struct UpdateResult {
  LossSum loss;
  double gradient_norm = 0;  // before clipping
  int64_t given_pieces = 0;  // rows that predict nothing: the source
};

// The buffers of one parameter table that only training needs; all have its
// size. `averages` is empty without exponential smoothing.
struct OptimizerState {
  int64_t step = 0;  // updates made
  std::vector<float> first_moment, second_moment, averages;
};

// Who does the work: the threads of this process, and the other processes.
struct Workforce {
  // Not explicit: the threads alone are one.
  Workforce(WorkerPool& threads,
            Communicator& others = SingleProcess::Instance())
      : pool(threads), processes(others) {}

  WorkerPool& pool;
  Communicator& processes;
};

class Trainer {
 public:
  // Trains the values of `model`. What is given by reference, the workforce
  // included, outlives the trainer.
  Trainer(Transformer& model, const PairCorpus& corpus, Boundary boundary,
          const TrainerOptions& options, const Workforce& workforce);
  ~Trainer();

  // One update over the pairs of `batch`, down the mean loss of a piece:
  //   sum over pairs of weight * loss / sum over pairs of weight * pieces,
  // so that weight 2 is the pair twice. (Marian's --data-weighting divides by
  // the pieces without weights.) Of pairs with an alignment the loss has a
  // second part, see guided_alignment.h. All processes call it with the same
  // batch. Throws Divergence, naming the first of weights, loss and gradients
  // that is not finite; the model is then as before.
  UpdateResult Update(const Batch& batch, double learning_rate);

  // Throws Divergence where the last update left a weight, a moment or an
  // average that is not finite: what must not be saved.
  void CheckFinite() const;

  // The cross-entropy of the targets of a corpus, without smoothing; the same
  // bits for any number of threads and processes.
  LossSum Evaluate(const Transformer& model, const PairCorpus& corpus);

  // Throws Error (65) where the processes do not have the same weights.
  void CheckAgreement();

  // Of all processes together.
  int64_t num_workers() const { return num_workers_; }

  // Memory that this process holds for what its updates have needed so far.
  int64_t gradient_bytes() const;
  int64_t activation_bytes() const;

  // Adds up where the time goes from now on, all workers together.
  void StartProfile();
  Profile TotalProfile() const;

  OptimizerState& state() { return state_; }
  const OptimizerState& state() const { return state_; }

 private:
  struct Worker;

  void RunShards(const Batch& batch, float gradient_scale, LossSum& sum);
  double SumGradients();
  void CheckUpdate(const UpdateResult& result, const Batch& batch) const;
  void Step(double learning_rate, double gradient_scale);
  LossSum Total(std::span<LossSum> losses);
  void ForEachRange(const std::function<void(int64_t, int64_t)>& run);

  Transformer& model_;
  const PairCorpus& corpus_;
  Boundary boundary_;
  TrainerOptions options_;
  WorkerPool& pool_;
  Communicator& processes_;
  int64_t first_worker_ = 0;  // number of ours among those of all processes
  int64_t num_workers_ = 0;   // of all processes
  OptimizerState state_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Batch last_batch_;  // of the last update
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_TRAINER_H_
