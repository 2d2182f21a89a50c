// The options of `train` about what is known of each pair beside its text.
#ifndef PIPEFORMER_TOOLS_TRAIN_PAIR_OPTIONS_H_
#define PIPEFORMER_TOOLS_TRAIN_PAIR_OPTIONS_H_

#include <vector>

#include "tools/support/options.h"
#include "tools/train_settings.h"

namespace pipeformer {

std::vector<Option> PairOptions(TrainSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_PAIR_OPTIONS_H_
