// The option table of `train`.
#ifndef PIPEFORMER_TOOLS_TRAIN_OPTIONS_H_
#define PIPEFORMER_TOOLS_TRAIN_OPTIONS_H_

#include <vector>

#include "tools/support/options.h"
#include "tools/train_settings.h"

namespace pipeformer {

// The options, bound to `settings`, with its values as defaults.
std::vector<Option> TrainOptions(TrainSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_OPTIONS_H_
