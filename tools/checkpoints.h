// The files that `train` leaves and resumes from: the model, its state, the
// best model by each metric and the checkpoints that are averaged.
//
// Each appears whole or not at all. The state is written after the models it
// speaks of, and a checkpoint removed only after the state that no longer
// names it: a run that is killed between the two finds in the older state all
// that it needs, and makes the same models again.
#ifndef PIPEFORMER_TOOLS_CHECKPOINTS_H_
#define PIPEFORMER_TOOLS_CHECKPOINTS_H_

#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/training_state.h"
#include "lib/nn/transformer.h"
#include "lib/train/trainer.h"
#include "lib/train/training_loop.h"
#include "tools/train_settings.h"

namespace pipeformer {

class Checkpoints {
 public:
  // Of several processes that train together one writes and removes; for the
  // others, and where nothing is to be written, these functions do nothing.
  enum class Role { kWriter, kReader };

  // Removes what a killed run left unfinished beside --model. Throws Error
  // where --model cannot be written (73) or is no good name (64): now, and not
  // after hours. Requires: all that is named outlives this object.
  Checkpoints(const TrainSettings& settings, Role role);

  // Whether there is a state to resume from.
  bool HasState() const;

  // Throws Error (73) where it cannot.
  void RemoveState() const;

  // Reads the state into the parameters of `network`, `optimizer` and
  // `position`. Throws Error as ReadTrainingState does, and (66) where a
  // checkpoint is missing.
  void Resume(const TrainingIdentity& identity, Transformer& network,
              OptimizerState& optimizer, TrainingPosition& position) const;

  // Writes the models that a validation asks for: `network` holds the weights
  // that were validated after update `step`.
  //   is_best  as TrainingListener::Validated says
  void WriteModels(const Transformer& network,
                   const VocabularyPair& vocabularies,
                   const TrainingPosition& position, int64_t step,
                   const std::vector<bool>& is_best) const;

  void WriteState(const TrainingIdentity& identity, const Transformer& network,
                  const OptimizerState& optimizer,
                  const TrainingPosition& position) const;

  // Removes the checkpoints that `position` does not name.
  void RemoveOthers(const TrainingPosition& position) const;

  // Sets the parameters of `network` to the average of the checkpoints that
  // `position` names. Requires: there are some.
  void Average(const VocabularyPair& vocabularies,
               const TrainingPosition& position, Transformer& network) const;

  void WriteModel(const Transformer& network,
                  const VocabularyPair& vocabularies) const;

 private:
  std::string StateFile() const;
  std::string BestFile(size_t metric) const;
  std::string UpdateFile(int64_t step) const;

  const TrainSettings& settings_;
  const bool writes_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_CHECKPOINTS_H_
