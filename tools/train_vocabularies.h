// The vocabularies of a training, and what of its network follows from them.
#ifndef PIPEFORMER_TOOLS_TRAIN_VOCABULARIES_H_
#define PIPEFORMER_TOOLS_TRAIN_VOCABULARIES_H_

#include "formats/model_file.h"
#include "tools/train_settings.h"

namespace pipeformer {

// Reads --vocabs: one joint vocabulary, or source and target. Throws Error (65,
// 66) where one cannot be read or has no sentence end.
VocabularyPair LoadVocabularies(const TrainSettings& settings);

// Completes the network of `settings`. Throws Error (64) where it needs one
// joint vocabulary and has two, and as CheckConfig does.
void FitNetwork(const VocabularyPair& vocabularies, TrainSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_VOCABULARIES_H_
