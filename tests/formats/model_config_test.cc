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
  EXPECT_EQ(read.source_vocab, 100);
  EXPECT_EQ(read.target_vocab, 200);
  EXPECT_FALSE(read.tied_embeddings);
  EXPECT_EQ(read.max_positions, 77);
  EXPECT_EQ(read.dropout, 0.125f);
  EXPECT_EQ(read.attention_dropout, 0.1f);
  EXPECT_EQ(read.ffn_dropout, 0.3f);
  EXPECT_EQ(ConfigToJson(read), ConfigToJson(config));
}

TEST(ModelConfig, EveryKeyIsNeeded) {
  const auto all = nlohmann::ordered_json::parse(ConfigToJson(Unusual()));
  EXPECT_EQ(all.size(), 15u);
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
  json["rotary"] = true;
  const std::string message = Refusal(json.dump());
  EXPECT_NE(message.find("'rotary'"), std::string::npos) << message;
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
  };
  for (const BadValue& bad : bad_values) {
    auto json = nlohmann::ordered_json::parse(ConfigToJson(Unusual()));
    json[bad.key] = bad.value;
    const std::string message = Refusal(json.dump());
    EXPECT_NE(message.find(bad.word), std::string::npos)
        << bad.key << ": " << bad.word << " in: " << message;
  }
}

TEST(ModelConfig, OnlyAnObjectIsAConfiguration) {
  for (const char* json : {"", "{", "[]", "3", "null", "\"x\"", "{}x"}) {
    EXPECT_NE(Refusal(json).find("JSON object"), std::string::npos) << json;
  }
}

}  // namespace
}  // namespace pipeformer
