// The options of build-vocab, and its run.
#ifndef PIPEFORMER_TOOLS_BUILD_VOCAB_RUN_H_
#define PIPEFORMER_TOOLS_BUILD_VOCAB_RUN_H_

#include <string>
#include <vector>

#include "lib/text/vocabulary_trainer.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct BuildVocabSettings {
  VocabularyOptions vocabulary;
  std::string to = "model";  // or jsonl
};

std::vector<Option> BuildVocabOptions(BuildVocabSettings& settings);

// Learns from the tool's inputs and writes the model, or the list of pieces.
// Throws Error, also on a line that is not UTF-8.
void RunBuildVocab(Tool& tool, const BuildVocabSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_BUILD_VOCAB_RUN_H_
