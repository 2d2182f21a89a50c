// What resuming a training needs beside the model: weights, the optimiser's
// moments, averages, and where the training stands. README.md of this folder
// specifies the file.
#ifndef PIPEFORMER_FORMATS_TRAINING_STATE_H_
#define PIPEFORMER_FORMATS_TRAINING_STATE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/nn/parameter.h"
#include "lib/train/trainer.h"
#include "lib/train/training_loop.h"

namespace pipeformer {

// What a training was started with: one object of settings, and of files as
// IdentityOfFiles. A run resumes only what was started with the same.
using TrainingIdentity = nlohmann::ordered_json;

// Files under any name, told apart by the hash of what they hold.
TrainingIdentity IdentityOfFiles(const std::vector<std::string>& files,
                                 const std::string& sha256);

// Writes the state, whole or not at all; equal arguments give equal bytes.
// Throws what OutputFile throws.
void WriteTrainingState(const ParameterTable& parameters,
                        const OptimizerState& optimizer,
                        const TrainingPosition& position,
                        const TrainingIdentity& identity,
                        const std::string& path);

// Reads it back. Throws Error (65) naming the path and the first setting that
// is not the same as in `identity`, or what is wrong with the file.
// Requires: the optimiser's buffers have their sizes.
void ReadTrainingState(const std::string& path,
                       const TrainingIdentity& identity,
                       ParameterTable& parameters, OptimizerState& optimizer,
                       TrainingPosition& position);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_TRAINING_STATE_H_
