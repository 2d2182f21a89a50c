#include "formats/model_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

TransformerConfig Unusual() {
  return {.d_model = 24,
          .num_heads = 3,
          .ffn_dim = 7,
          .encoder_layers = 2,
          .decoder_layers = 5,
          .activation = Activation::kSwish,
          .norm = NormPlace::kPre,
          .final_norm = FinalNorm::kAlways,
          .position = PositionKind::kRelative,
          .relative_clip = 6,
          .attention_scale = AttentionScale::kNone,
          .attention_window = 11,
          .decoder_mask = Mask::kNone,
          .source_vocab = 100,
          .target_vocab = 200,
          .tied_embeddings = false,
          .max_positions = 77,
          .dropout = 0.125f,
          .attention_dropout = 0.1f,
          .ffn_dropout = 0.3f};
}

std::string Refusal(const std::string& json) {
  try {
    ConfigFromJson(json, "m.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    EXPECT_EQ(std::string(error.what()).find("m.safetensors: "), 0u);
    return error.what();
  }
  return "";
}

TEST(ModelConfig, ComesBackAsItWas) {
  const TransformerConfig config = Unusual();
  const TransformerConfig read =
      ConfigFromJson(ConfigToJson(config), "m.safetensors");
  EXPECT_EQ(read.d_model, 24);
  EXPECT_EQ(read.num_heads, 3);
  EXPECT_EQ(read.ffn_dim, 7);
  EXPECT_EQ(read.encoder_layers, 2);
  EXPECT_EQ(read.decoder_layers, 5);
  EXPECT_EQ(read.activation, Activation::kSwish);
  EXPECT_EQ(read.norm, NormPlace::kPre);
  EXPECT_EQ(read.final_norm, FinalNorm::kAlways);
  EXPECT_EQ(read.position, PositionKind::kRelative);
  EXPECT_EQ(read.relative_clip, 6);
  EXPECT_EQ(read.attention_scale, AttentionScale::kNone);
  EXPECT_EQ(read.attention_window, 11);
  EXPECT_EQ(read.decoder_mask, Mask::kNone);
  EXPECT_EQ(read.source_vocab, 100);
  EXPECT_EQ(read.target_vocab, 200);
  EXPECT_FALSE(read.tied_embeddings);
  EXPECT_EQ(read.max_positions, 77);
  EXPECT_EQ(read.dropout, 0.125f);
  EXPECT_EQ(read.attention_dropout, 0.1f);
  EXPECT_EQ(read.ffn_dropout, 0.3f);
  EXPECT_EQ(ConfigToJson(read), ConfigToJson(config));
}

TransformerConfig LanguageModel(TrainedOn trained_on) {
  return {.type = ModelType::kLanguageModel,
          .trained_on = trained_on,
          .d_model = 24,
          .num_heads = 3,
          .encoder_layers = 0,
          .source_vocab = 100,
          .target_vocab = 100};
}

TEST(ModelConfig, LanguageModelsComeBackAsTheyWere) {
  for (const TrainedOn trained_on :
       {TrainedOn::kPairs, TrainedOn::kSentences}) {
    const TransformerConfig config = LanguageModel(trained_on);
    const TransformerConfig read =
        ConfigFromJson(ConfigToJson(config), "m.safetensors");
    EXPECT_EQ(read.type, ModelType::kLanguageModel);
    EXPECT_EQ(read.trained_on, trained_on);
    EXPECT_EQ(read.encoder_layers, 0);
    EXPECT_EQ(ConfigToJson(read), ConfigToJson(config));
  }
}

TEST(ModelConfig, EveryKindOfPositionsHasItsName) {
  const std::pair<PositionKind, const char*> names[] = {
      {PositionKind::kSinusoidal, "sinusoidal"},
      {PositionKind::kLearned, "learned"},
      {PositionKind::kRelative, "relative"},
      {PositionKind::kRotary, "rotary"},
      {PositionKind::kAlibi, "alibi"}};
  for (const auto& [kind, name] : names) {
    TransformerConfig config = Unusual();
    config.position = kind;
    const std::string json = ConfigToJson(config);
    EXPECT_EQ(nlohmann::ordered_json::parse(json)["position"], name);
    EXPECT_EQ(ConfigFromJson(json, "m.safetensors").position, kind);
  }
}

// The configuration of a model from before there were language models and
// positions to choose from.
constexpr char kOldModel[] =
    R"({"d_model":24,"num_heads":3,"ffn_dim":7,"encoder_layers":2,)"
    R"("decoder_layers":5,"activation":"swish","norm":"pre",)"
    R"("final_norm":"always","source_vocab":100,"target_vocab":200,)"
    R"("tied_embeddings":false,"max_positions":77,"dropout":0.125,)"
    R"("attention_dropout":0.1,"ffn_dropout":0.3})";

TEST(ModelConfig, OlderModelsAreWhatTheyWere) {
  const TransformerConfig read = ConfigFromJson(kOldModel, "m.safetensors");
  EXPECT_EQ(read.decoder_layers, 5);
  EXPECT_EQ(read.type, ModelType::kEncoderDecoder);
  EXPECT_EQ(read.trained_on, TrainedOn::kPairs);
  EXPECT_EQ(read.position, PositionKind::kSinusoidal);
  EXPECT_EQ(read.relative_clip, 16);
  EXPECT_EQ(read.attention_scale, AttentionScale::kSqrt);
  EXPECT_EQ(read.attention_window, 0);
  EXPECT_EQ(read.decoder_mask, Mask::kCausal);
}

TEST(ModelConfig, EveryKeyThatOlderModelsHaveIsNeeded) {
  const auto all = nlohmann::ordered_json::parse(kOldModel);
  for (const auto& [key, value] : all.items()) {
    auto without = all;
    without.erase(key);
    EXPECT_NE(Refusal(without.dump()).find("'" + key + "' is missing"),
              std::string::npos)
        << key;
  }
}

TEST(ModelConfig, AnUnknownKeyIsNotPassedOver) {
  auto json = nlohmann::ordered_json::parse(ConfigToJson(Unusual()));
  json["experts"] = true;
  const std::string message = Refusal(json.dump());
  EXPECT_NE(message.find("'experts'"), std::string::npos) << message;
  EXPECT_NE(message.find("newer"), std::string::npos) << message;
}

struct BadValue {
  const char* key;
  nlohmann::ordered_json value;
  std::string word;
};

TEST(ModelConfig, BadValuesAreNamed) {
  const BadValue bad_values[] = {
      {"d_model", 0, "d_model is 0"},
      {"d_model", -4, "d_model is -4"},
      {"d_model", int64_t{1} << 40, "d_model"},
      {"d_model", "24", "wrong type"},
      {"d_model", nullptr, "wrong type"},
      {"num_heads", 5, "5 heads do not divide"},
      {"num_heads", 0, "num_heads is 0"},
      {"encoder_layers", 0, "encoder_layers is 0"},
      {"source_vocab", 0, "source_vocab is 0"},
      {"max_positions", 0, "max_positions is 0"},
      {"tied_embeddings", true, "100 and 200"},
      {"tied_embeddings", 1, "wrong type"},
      {"dropout", 1, "dropout is 1"},
      {"dropout", -0.1, "dropout is -0.1"},
      {"attention_dropout", 2, "attention_dropout"},
      {"ffn_dropout", "none", "ffn_dropout"},
      {"activation", "tanh", "'tanh', known are relu, gelu, swish"},
      {"norm", "sandwich", "'sandwich', known are post, pre"},
      {"final_norm", 3, "final_norm"},
      {"type", "lstm", "'lstm', known are transformer, transformer-lm"},
      {"trained_on", "words", "'words', known are pairs, sentences"},
      {"trained_on", "sentences", "an encoder-decoder needs pairs"},
      {"type", "transformer-lm", "encoder_layers is 2"},
      {"position", "absolute", "'absolute', known are sinusoidal, learned"},
      {"relative_clip", 0, "relative_clip is 0"},
      {"attention_scale", 2, "attention_scale"},
      {"attention_window", -1, "attention_window is -1"},
      {"decoder_mask", "future", "'future', known are causal, none"},
  };
  for (const BadValue& bad : bad_values) {
    auto json = nlohmann::ordered_json::parse(ConfigToJson(Unusual()));
    json[bad.key] = bad.value;
    const std::string message = Refusal(json.dump());
    EXPECT_NE(message.find(bad.word), std::string::npos)
        << bad.key << ": " << bad.word << " in: " << message;
  }
}

std::string RefusalOf(const TransformerConfig& config) {
  return Refusal(ConfigToJson(config));
}

TEST(ModelConfig, RotaryPositionsNeedHeadsOfEvenWidth) {
  TransformerConfig config = Unusual();
  config.position = PositionKind::kRotary;
  config.num_heads = 8;  // of 3
  EXPECT_NE(RefusalOf(config).find("a head has 3 dimensions"),
            std::string::npos);
  config.num_heads = 6;  // of 4
  EXPECT_EQ(RefusalOf(config), "");
}

TEST(ModelConfig, ALanguageModelHasOneVocabulary) {
  TransformerConfig config = LanguageModel(TrainedOn::kPairs);
  config.tied_embeddings = false;
  EXPECT_EQ(RefusalOf(config), "");
  config.source_vocab = 99;
  EXPECT_NE(RefusalOf(config).find("99 and 100"), std::string::npos);
}

TEST(ModelConfig, OnlyAnObjectIsAConfiguration) {
  for (const char* json : {"", "{", "[]", "3", "null", "\"x\"", "{}x"}) {
    EXPECT_NE(Refusal(json).find("JSON object"), std::string::npos) << json;
  }
}

}  // namespace
}  // namespace pipeformer
