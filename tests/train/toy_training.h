// A network of a few thousand numbers that learns to copy, with all it needs.
#ifndef PIPEFORMER_TESTS_TRAIN_TOY_TRAINING_H_
#define PIPEFORMER_TESTS_TRAIN_TOY_TRAINING_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/base/worker_pool.h"
#include "lib/data/batcher.h"
#include "lib/nn/transformer.h"
#include "lib/train/communicator.h"
#include "lib/train/trainer.h"
#include "tests/data/test_corpus.h"

namespace pipeformer {

struct ToyOptions {
  ModelType type = ModelType::kEncoderDecoder;
  TrainedOn trained_on = TrainedOn::kPairs;
  PositionKind position = PositionKind::kSinusoidal;
  int threads = 1;
  uint64_t seed = 1;
  float dropout = 0;
  TrainerOptions trainer = {};
  size_t pairs = 200;
  uint64_t longest = 6;
};

class ToyTraining {
 public:
  explicit ToyTraining(const ToyOptions& options,
                       Communicator& processes = SingleProcess::Instance())
      : options_(options),
        memory_(Corpus(options, 0)),
        corpus_(memory_.view()),
        network_(Config(options)),
        pool_(options.threads),
        trainer_(Started(options.seed), corpus_, {},
                 Seeded(options.trainer, options.seed), {pool_, processes}) {}

  // Updates with batches of one epoch after another; gives the mean losses.
  std::vector<double> Run(int64_t updates, double learning_rate) {
    std::vector<double> losses;
    for (uint64_t epoch = 0; static_cast<int64_t>(losses.size()) < updates;
         ++epoch) {
      for (const Batch& batch :
           MakeEpoch(corpus_, {.batch_rows = 128}, Random(1).Fork(epoch))) {
        if (static_cast<int64_t>(losses.size()) == updates) break;
        const LossSum loss = trainer_.Update(batch, learning_rate).loss;
        losses.push_back(loss.plain / static_cast<double>(loss.pieces));
      }
    }
    return losses;
  }

  // Weights of all pairs, for the updates to come.
  void Weigh(std::vector<float> weights) {
    weights_ = std::move(weights);
    corpus_.weights = weights_;
  }

  // Every target piece comes from the source piece of its number.
  void AlignAsCopies() {
    link_offsets_.assign(1, 0);
    for (int64_t s = 0; s < corpus_.size(); ++s) {
      const auto pieces = static_cast<int32_t>(corpus_.target[s].size());
      for (int32_t t = 0; t < pieces; ++t) links_.push_back({t, t});
      link_offsets_.push_back(static_cast<int64_t>(links_.size()));
    }
    corpus_.links = links_;
    corpus_.link_offsets = link_offsets_;
  }

  // Puts other pairs in place of all pairs, the same ones for the same epoch.
  void CutAnew(int64_t epoch) {
    memory_ = Corpus(options_, static_cast<uint64_t>(epoch));
    corpus_ = memory_.view();
  }

  // A copy of all parameters.
  std::vector<float> Values() const {
    const float* values = network_.parameters().values();
    return {values, values + network_.parameters().size()};
  }

  Batch FirstBatch() const {
    return MakeEpoch(corpus_, {.batch_rows = 128}, Random(2)).front();
  }

  const PairCorpus& corpus() const { return corpus_; }
  Transformer& network() { return network_; }
  Trainer& trainer() { return trainer_; }

 private:
  static constexpr uint64_t kVocab = 12;

  static TestCorpus Corpus(const ToyOptions& options, uint64_t epoch) {
    const TestCorpus pairs =
        CopyCorpus(options.pairs, options.longest, kVocab, 5 + epoch);
    return options.trained_on == TrainedOn::kPairs ? pairs
                                                   : TargetsOf(pairs.view());
  }

  static TransformerConfig Config(const ToyOptions& options) {
    return {.type = options.type,
            .trained_on = options.trained_on,
            .d_model = 16,
            .num_heads = 2,
            .ffn_dim = 32,
            .encoder_layers = options.type == ModelType::kLanguageModel ? 0 : 1,
            .decoder_layers = 1,
            .position = options.position,
            .relative_clip = 4,
            .source_vocab = kVocab,
            .target_vocab = kVocab,
            .max_positions = 32,
            .dropout = options.dropout};
  }

  Transformer& Started(uint64_t seed) {
    network_.parameters().Allocate();
    network_.parameters().Initialize(seed);
    return network_;
  }

  static TrainerOptions Seeded(TrainerOptions options, uint64_t seed) {
    options.seed = seed;
    return options;
  }

  ToyOptions options_;
  TestCorpus memory_;
  std::vector<float> weights_;
  std::vector<Link> links_;
  std::vector<int64_t> link_offsets_;
  PairCorpus corpus_;
  Transformer network_;
  WorkerPool pool_;
  Trainer trainer_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_TRAIN_TOY_TRAINING_H_
