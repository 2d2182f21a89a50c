// A small model with random weights and a vocabulary of letters.
#ifndef PIPEFORMER_TESTS_FORMATS_TEST_MODEL_H_
#define PIPEFORMER_TESTS_FORMATS_TEST_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "formats/model_file.h"
#include "lib/nn/transformer.h"
#include "lib/text/vocabulary_trainer.h"

namespace pipeformer {

// A vocabulary whose pieces are the white space mark and the letters of
// `text`, after <unk> <s> </s>.
inline std::shared_ptr<const Vocabulary> LetterVocabulary(
    const std::string& text, int64_t vocab_size) {
  bool given = false;
  const TrainedVocabulary trained = TrainVocabulary(
      {.model_type = "char", .vocab_size = vocab_size}, [&](std::string* line) {
        *line = text;
        return !given && (given = true);
      });
  return std::make_shared<const Vocabulary>(trained.model);
}

inline VocabularyPair JointVocabulary() {
  const auto joint = LetterVocabulary("a bb ccc dddd", 8);
  return {joint, joint};
}

inline VocabularyPair TwoVocabularies() {
  return {LetterVocabulary("a bb ccc dddd", 8),
          LetterVocabulary("e ff ggg hhhh iiiii", 9)};
}

inline TransformerConfig ConfigFor(const VocabularyPair& vocabularies) {
  return {.d_model = 12,
          .num_heads = 2,
          .ffn_dim = 20,
          .encoder_layers = 1,
          .decoder_layers = 2,
          .source_vocab = vocabularies.source->size(),
          .target_vocab = vocabularies.target->size(),
          .tied_embeddings = vocabularies.joint(),
          .max_positions = 40};
}

inline std::unique_ptr<Transformer> NewNetwork(const TransformerConfig& config,
                                               uint64_t seed) {
  auto network = std::make_unique<Transformer>(config);
  network->parameters().Allocate();
  network->parameters().Initialize(seed);
  return network;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_FORMATS_TEST_MODEL_H_
