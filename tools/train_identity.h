// What a training was begun with: what it must have in common with a run that
// goes on with it, and processes that share it with each other.
#ifndef PIPEFORMER_TOOLS_TRAIN_IDENTITY_H_
#define PIPEFORMER_TOOLS_TRAIN_IDENTITY_H_

#include <cstdint>

#include "formats/model_file.h"
#include "formats/training_state.h"
#include "tools/train_settings.h"
#include "tools/training_data.h"

namespace pipeformer {

// The part of the options. Requires: CompleteSettings was called.
TrainingIdentity OptionIdentity(const TrainSettings& settings);

// What the identity is made of beside the settings.
struct IdentityParts {
  const VocabularyPair& vocabularies;
  const TrainingData& train;
  const TrainingData* valid = nullptr;
  uint64_t seed = 1;
  int64_t num_processes = 1;
  int64_t num_workers = 1;  // of all processes
};

// An entry for all that changes the result, as formats/README.md describes
// them. Requires: CompleteSettings was called.
TrainingIdentity IdentityOf(const TrainSettings& settings,
                            const IdentityParts& parts);

// What a resumed run may change, but no single process of several: it decides
// when they do what together.
TrainingIdentity CourseOf(const TrainSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_IDENTITY_H_
