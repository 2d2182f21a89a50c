// What a training will take, said before it begins: `train --dry-run`.
#ifndef PIPEFORMER_TOOLS_TRAIN_ESTIMATE_H_
#define PIPEFORMER_TOOLS_TRAIN_ESTIMATE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/nn/transformer.h"
#include "lib/train/trainer.h"
#include "lib/train/training_loop.h"
#include "tools/mpi/ranks.h"
#include "tools/train_corpora.h"
#include "tools/train_settings.h"

namespace pipeformer {

// A training that could begin.
struct PreparedTraining {
  const TrainSettings& settings;
  const TrainCorpora& corpora;
  const Transformer& network;
  Trainer& trainer;
  const LoopOptions& loop;
  const Ranks& ranks;
};

// Counts, adds up, and trains on real batches for two seconds, at least two
// updates, to see how long they take; the first is not counted. The network is
// worth nothing afterwards. Gives an `estimate` (schemas/estimate.schema.json).
nlohmann::ordered_json EstimateTraining(const PreparedTraining& training);

// The same for people: some lines.
std::vector<std::string> EstimateLines(const nlohmann::ordered_json& estimate);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_ESTIMATE_H_
