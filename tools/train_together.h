// What several processes that train together must have in common, checked
// before they begin: what one of them lacks would leave the others waiting, or
// train another network in each.
#ifndef PIPEFORMER_TOOLS_TRAIN_TOGETHER_H_
#define PIPEFORMER_TOOLS_TRAIN_TOGETHER_H_

#include <string>

#include "formats/training_state.h"
#include "tools/mpi/ranks.h"
#include "tools/train_settings.h"

namespace pipeformer {

// Throws Error (64) where several processes would share standard input, or do
// not find each other. One process alone may do as it likes.
void CheckTogether(const TrainSettings& settings, const Ranks& ranks);

// Whether a process finds a state to resume from.
enum class StateIs { kMissing, kThere };

// Throws Error (65) where the processes differ in a part of `identity`, or in
// whether they find `state_file`.
void CheckSameTraining(const TrainingIdentity& identity,
                       const std::string& state_file, StateIs state,
                       const Ranks& ranks);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_TOGETHER_H_
