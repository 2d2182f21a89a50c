// The options of `train` that say how the training goes: its end, validations,
// saves, and which weights are kept.
#ifndef PIPEFORMER_TOOLS_TRAIN_COURSE_OPTIONS_H_
#define PIPEFORMER_TOOLS_TRAIN_COURSE_OPTIONS_H_

#include <vector>

#include "tools/support/options.h"
#include "tools/train_settings.h"

namespace pipeformer {

// Bound to `settings`, which outlives them.
std::vector<Option> CourseOptions(TrainSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_COURSE_OPTIONS_H_
