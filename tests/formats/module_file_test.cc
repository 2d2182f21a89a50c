#include "formats/module_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "formats/tensor_file.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

// Writes the parameters of a new module of `config` to a file, with 0, 1, 2, ..
// in each.
class SavedModule {
 public:
  explicit SavedModule(const ModuleConfig& config,
                       const std::map<std::string, std::string>& facts = {},
                       const std::string& prefix = "")
      : path_(testing::TempDir() + "module" + std::to_string(getpid()) +
              ".safetensors") {
    Module module(config);
    module.parameters().Allocate();
    TensorCollection collection;
    collection.metadata = facts;
    module.parameters().ForEachParameter([&](Parameter& p) {
      for (int64_t i = 0; i < p.size(); ++i) {
        p.value.data[i] = static_cast<float>(i);
      }
      collection.Add(
          prefix + p.name,
          ViewOf(std::span(p.value.data, static_cast<size_t>(p.size())),
                 StateShape(p)));
    });
    WriteTensorFile(collection, path_);
  }
  ~SavedModule() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TransformerConfig SmallNetwork() {
  return {.d_model = 6,
          .num_heads = 3,
          .ffn_dim = 10,
          .encoder_layers = 2,
          .decoder_layers = 3,
          .final_norm = FinalNorm::kAlways};
}

// Also field case mha-nobias.
TEST(LoadModule, ReadsAnAttentionOffItsShapes) {
  const SavedModule saved({.attention = {.d_model = 6,
                                         .num_heads = 2,
                                         .bias = false,
                                         .key_dim = 5,
                                         .value_dim = 4,
                                         .bias_kv = true}});
  const ModuleFile file = LoadModule(saved.path(), "", {.num_heads = 2});
  const AttentionConfig& config = file.module->config().attention;
  EXPECT_EQ(file.module->config().kind, ModuleKind::kAttention);
  EXPECT_EQ(config.d_model, 6);
  EXPECT_EQ(config.num_heads, 2);
  EXPECT_EQ(config.key_dim, 5);
  EXPECT_EQ(config.value_dim, 4);
  EXPECT_FALSE(config.bias);
  EXPECT_TRUE(config.bias_kv);
  EXPECT_FALSE(config.zero_attention);
  file.module->parameters().ForEachParameter([](const Parameter& p) {
    EXPECT_EQ(p.value.data[p.size() - 1], static_cast<float>(p.size() - 1));
  });
}

TEST(LoadModule, ReadsEveryKindOffTheNames) {
  for (const ModuleKind kind :
       {ModuleKind::kEncoderLayer, ModuleKind::kDecoderLayer,
        ModuleKind::kTransformer}) {
    const SavedModule saved({.kind = kind, .network = SmallNetwork()}, {},
                            "a.b.");
    const ModuleFile file = LoadModule(saved.path(), "a.b.", {.num_heads = 3});
    const ModuleConfig& config = file.module->config();
    EXPECT_EQ(config.kind, kind);
    EXPECT_EQ(config.network.d_model, 6);
    EXPECT_EQ(config.network.ffn_dim, 10);
    if (kind != ModuleKind::kTransformer) continue;
    EXPECT_EQ(config.network.encoder_layers, 2);
    EXPECT_EQ(config.network.decoder_layers, 3);
    EXPECT_EQ(config.network.final_norm, FinalNorm::kAlways);
  }
}

TEST(LoadModule, AStackMayLackTheNormsAfterItsLastLayer) {
  TransformerConfig network = SmallNetwork();
  network.final_norm = FinalNorm::kAuto;
  const SavedModule saved(
      {.kind = ModuleKind::kTransformer, .network = network});
  EXPECT_EQ(LoadModule(saved.path(), "", {.num_heads = 3})
                .module->config()
                .network.final_norm,
            FinalNorm::kAuto);
  try {
    LoadModule(saved.path(), "", {.num_heads = 3, .norm_first = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(),
              saved.path() + ": tensor 'encoder.norm.weight' is missing");
  }
}

TEST(LoadModule, MetadataSayWhatShapesDoNot) {
  const SavedModule saved(
      {.kind = ModuleKind::kEncoderLayer, .network = SmallNetwork()},
      {{"num_heads", "3"},
       {"activation", "gelu"},
       {"norm_first", "true"},
       {"batch_first", "true"}});
  const ModuleFile file = LoadModule(saved.path(), "", {});
  const TransformerConfig& network = file.module->config().network;
  EXPECT_TRUE(file.batch_first);
  EXPECT_EQ(network.num_heads, 3);
  EXPECT_EQ(network.activation, Activation::kGelu);
  EXPECT_EQ(network.norm, NormPlace::kPre);
}

TEST(LoadModule, WhatIsGivenStandsBeforeTheMetadata) {
  const SavedModule saved({.attention = {.d_model = 6, .num_heads = 3}},
                          {{"num_heads", "3"}, {"add_zero_attn", "true"}});
  const ModuleFile file = LoadModule(
      saved.path(), "", {.num_heads = 2, .add_zero_attn = false}, 0.5f);
  EXPECT_EQ(file.module->config().attention.num_heads, 2);
  EXPECT_FALSE(file.module->config().attention.zero_attention);
  EXPECT_EQ(file.module->config().attention.dropout, 0.5f);
}

}  // namespace
}  // namespace pipeformer
