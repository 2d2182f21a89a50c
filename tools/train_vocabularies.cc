#include "tools/train_vocabularies.h"

#include <memory>

#include "formats/input.h"
#include "formats/model_config.h"
#include "lib/base/error.h"
#include "tools/translation.h"

namespace pipeformer {

VocabularyPair LoadVocabularies(const TrainSettings& settings) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  const std::vector<std::string>& files = settings.vocabs;
  const auto load = [](const std::string& file) {
    auto vocabulary = std::make_shared<const Vocabulary>(
        ReadAll(*OpenInput(file), kMaxBytes), file);
    CheckSentenceEnds(*vocabulary, file);
    return vocabulary;
  };
  const auto source = load(files[0]);
  const bool joint = files.size() == 1 || files[0] == files[1];
  return {source, joint ? source : load(files[1])};
}

void FitNetwork(const VocabularyPair& vocabularies, TrainSettings& settings) {
  TransformerConfig& config = settings.network;
  config.source_vocab = vocabularies.source->size();
  config.target_vocab = vocabularies.target->size();
  config.tied_embeddings =
      settings.tied_embeddings.value_or(vocabularies.joint());
  if (config.tied_embeddings && !vocabularies.joint()) {
    ThrowUsage("--tied-embeddings-all true needs one joint vocabulary");
  }
  if (config.is_language_model() && !vocabularies.joint()) {
    ThrowUsage("--type transformer-lm needs one joint vocabulary");
  }
  CheckConfig(config, "options");
}

}  // namespace pipeformer
