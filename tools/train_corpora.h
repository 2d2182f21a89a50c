// What a training reads: vocabularies, the pairs to learn from, cut anew for
// each epoch where that is asked for, and those to validate on.
#ifndef PIPEFORMER_TOOLS_TRAIN_CORPORA_H_
#define PIPEFORMER_TOOLS_TRAIN_CORPORA_H_

#include <cstdint>
#include <optional>

#include "formats/model_file.h"
#include "lib/base/worker_pool.h"
#include "lib/data/corpus.h"
#include "tools/subword_sampler.h"
#include "tools/support/tool.h"
#include "tools/train_settings.h"
#include "tools/training_data.h"

namespace pipeformer {

class TrainCorpora {
 public:
  // Reads all of it and says how much there is to learn from. Throws Error (65)
  // where that is nothing, and what LoadVocabularies and TrainingData throw.
  // Requires: tool, settings and pool outlive this.
  TrainCorpora(Tool& tool, const TrainSettings& settings, WorkerPool& pool);
  TrainCorpora(const TrainCorpora&) = delete;
  TrainCorpora& operator=(const TrainCorpora&) = delete;

  const VocabularyPair& vocabularies() const { return vocabularies_; }
  const TrainingData& train() const { return train_; }
  const TrainingData* valid() const { return valid_ ? &*valid_ : nullptr; }

  // The pairs of the epoch that began last, at first those of epoch 0. The
  // object stays the same, what it points at changes with the epoch.
  const PairCorpus& of_epoch() const { return of_epoch_; }
  void BeginEpoch(int64_t number);

  // Seconds that the last cut took; 0 where the text is cut once only.
  double seconds_to_cut() const { return seconds_to_cut_; }

  // Memory that the pairs to learn from take, cuts and text included.
  int64_t bytes() const;

 private:
  const VocabularyPair vocabularies_;
  const TrainingData train_;
  std::optional<TrainingData> valid_;
  std::optional<SubwordSampler> sampler_;
  std::optional<int64_t> cut_for_;  // the epoch that of_epoch_ was cut for
  PairCorpus of_epoch_;
  double seconds_to_cut_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_CORPORA_H_
