// Model files of every architecture and kind of positions, and those from
// before there was a choice.
#include <gtest/gtest.h>

#include <string>

#include "formats/model_config.h"
#include "formats/model_file.h"
#include "tests/formats/test_files.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

TEST(ModelKinds, SaveLoadSaveGivesTheSameBytes) {
  const VocabularyPair vocabularies = JointVocabulary();
  for (const ModelType type :
       {ModelType::kEncoderDecoder, ModelType::kLanguageModel}) {
    for (const PositionKind position :
         {PositionKind::kSinusoidal, PositionKind::kLearned,
          PositionKind::kRelative, PositionKind::kRotary,
          PositionKind::kAlibi}) {
      TransformerConfig config = ConfigFor(vocabularies);
      config.type = type;
      if (config.is_language_model()) config.encoder_layers = 0;
      config.position = position;
      const std::string first = Path("first.safetensors");
      const std::string second = Path("second.safetensors");
      WriteModel(*NewNetwork(config, 1), vocabularies, first);
      const Model model = LoadModel(first);
      EXPECT_EQ(model.network->config().type, type);
      EXPECT_EQ(model.network->config().position, position);
      WriteModel(*model.network, model.vocabularies, second);
      EXPECT_EQ(Bytes(first), Bytes(second));
    }
  }
}

// A file from before the newer keys of the configuration.
TEST(ModelKinds, AnOlderFileIsWhatItWas) {
  const VocabularyPair vocabularies = JointVocabulary();
  const auto network = NewNetwork(ConfigFor(vocabularies), 1);
  const std::string now = Path("now.safetensors");
  const std::string old = Path("old.safetensors");
  WriteModel(*network, vocabularies, now);
  const TensorFile file = TensorFile::Open(now);
  TensorCollection collection = file.collection();
  collection.metadata["config"] =
      R"({"d_model":12,"num_heads":2,"ffn_dim":20,"encoder_layers":1,)"
      R"("decoder_layers":2,"activation":"relu","norm":"post",)"
      R"("final_norm":"auto","source_vocab":8,"target_vocab":8,)"
      R"("tied_embeddings":true,"max_positions":40,"dropout":0.1,)"
      R"("attention_dropout":0.0,"ffn_dropout":0.0})";
  WriteTensorFile(collection, old);
  const Model model = LoadModel(old);
  EXPECT_EQ(ConfigToJson(model.network->config()),
            ConfigToJson(network->config()));
}

}  // namespace
}  // namespace pipeformer
