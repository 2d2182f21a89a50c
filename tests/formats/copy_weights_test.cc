// Training on from the weights of a model: what is copied, what is refused.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "formats/model_file.h"
#include "lib/base/error.h"
#include "tests/formats/test_files.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

TEST(CopyWeights, NamesTheTensorOfAnotherShape) {
  const VocabularyPair vocabularies = JointVocabulary();
  const std::string path = Path("narrow.safetensors");
  WriteModel(*NewNetwork(ConfigFor(vocabularies), 1), vocabularies, path);
  TransformerConfig wide = ConfigFor(vocabularies);
  wide.ffn_dim = 24;
  const auto network = NewNetwork(wide, 1);
  try {
    CopyWeights(path, vocabularies, *network);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    const std::string message = error.what();
    EXPECT_NE(message.find("[20, 12]"), std::string::npos) << message;
    EXPECT_NE(message.find("[24, 12]"), std::string::npos) << message;
  }
}

// Weights of the right shapes that mean something else.
TEST(CopyWeights, RefusesAnotherNetwork) {
  const VocabularyPair vocabularies = JointVocabulary();
  const std::string path = Path("other.safetensors");
  const TransformerConfig config = ConfigFor(vocabularies);
  WriteModel(*NewNetwork(config, 1), vocabularies, path);
  TransformerConfig heads = config, scale = config, position = config;
  heads.num_heads = config.num_heads == 1 ? 2 : 1;
  scale.attention_scale = AttentionScale::kNone;
  position.position = PositionKind::kAlibi;
  const std::pair<TransformerConfig, const char*> others[] = {
      {heads, "num_heads"},
      {scale, "attention_scale \"sqrt\", now \"none\""},
      {position, "position \"sinusoidal\", now \"alibi\""}};
  for (const auto& [other, words] : others) {
    const auto network = NewNetwork(other, 1);
    try {
      CopyWeights(path, vocabularies, *network);
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadData);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
          << error.what();
    }
  }
  TransformerConfig dropout = config;
  dropout.dropout = 0.25f;
  CopyWeights(path, vocabularies, *NewNetwork(dropout, 1));
}

// Ids are pieces of a vocabulary: the same numbers of another mean nothing.
TEST(CopyWeights, RefusesAnotherVocabularyOfTheSameSize) {
  const auto other = LetterVocabulary("e ff ggg hhhh", 8);
  const VocabularyPair own = JointVocabulary(), others = {other, other};
  ASSERT_EQ(own.source->size(), other->size());
  const std::string path = Path("words.safetensors");
  WriteModel(*NewNetwork(ConfigFor(own), 1), own, path);
  const auto network = NewNetwork(ConfigFor(own), 2);
  CopyWeights(path, own, *network);
  try {
    CopyWeights(path, others, *network);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    EXPECT_NE(std::string(error.what()).find("another vocabulary"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace pipeformer
