// One run of `train`: reads the pairs, trains, validates, saves.
#ifndef PIPEFORMER_TOOLS_TRAIN_RUN_H_
#define PIPEFORMER_TOOLS_TRAIN_RUN_H_

#include "tools/mpi/ranks.h"
#include "tools/support/tool.h"
#include "tools/train_settings.h"

namespace pipeformer {

// Trains as `settings` say and leaves the model and the state for resuming.
// On SIGINT and SIGTERM it saves the state and ends by that signal. Throws
// Error on bad data, options that do not fit the data, or a full disk; what
// was saved before stays whole. Several processes train as one: each reads all
// the data, the first one alone writes.
void RunTrain(Tool& tool, TrainSettings& settings, const Ranks& ranks);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_RUN_H_
