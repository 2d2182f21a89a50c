#include "lib/nn/parameter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "lib/nn/transformer.h"
#include "tests/nn/test_network.h"

namespace pipeformer {
namespace {

std::vector<std::string> NamesOf(const ParameterTable& table) {
  std::vector<std::string> names;
  table.ForEachParameter([&](const Parameter& p) { names.push_back(p.name); });
  return names;
}

std::vector<float> ValuesOf(const ParameterTable& table,
                            const std::string& name) {
  std::vector<float> values;
  table.ForEachParameter([&](const Parameter& p) {
    if (p.name == name) {
      values.assign(p.value.data, p.value.data + p.size());
    }
  });
  return values;
}

TEST(ParameterTable, KeepsTheDeclaredOrderInOneBuffer) {
  ParameterTable table;
  Parameter& a = table.DeclareMatrix("a", 3, 5, {});
  Parameter& b = table.DeclareVector("b", 7, 1);
  table.DeclareMatrix("c", 2, 2, {});
  table.Allocate();
  EXPECT_EQ(NamesOf(table), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(table.size(), 15 + 7 + 4);
  EXPECT_EQ(a.value.data, table.values());
  EXPECT_EQ(b.value.data, table.values() + 15);
  EXPECT_EQ(b.rank, 1);
  EXPECT_EQ(b.value.rows, 1);
  EXPECT_EQ(b.value.cols, 7);
  for (int64_t i = 0; i < table.size(); ++i) EXPECT_EQ(table.values()[i], 0);
}

TEST(ParameterTable, ReferencesSurviveLaterDeclarations) {
  ParameterTable table;
  const Parameter& first = table.DeclareVector("first", 4, 0);
  for (int i = 0; i < 1000; ++i) {
    table.DeclareVector(std::to_string(i), 4, 0);
  }
  EXPECT_EQ(first.name, "first");
}

TEST(ParameterTable, RefusesAParameterWithoutElements) {
  ParameterTable table;
  EXPECT_THROW(table.DeclareMatrix("none", 0, 4, {}), std::logic_error);
}

TEST(ParameterTable, GradientsLieAsTheValuesDo) {
  ParameterTable table;
  table.DeclareVector("a", 6, 0);
  const Parameter& b = table.DeclareMatrix("b", 2, 3, {});
  std::vector<float> gradients(12);
  const Matrix gradient = GradientOf(b, gradients.data());
  EXPECT_EQ(gradient.data, gradients.data() + 6);
  EXPECT_EQ(gradient.rows, 2);
  EXPECT_EQ(gradient.cols, 3);
}

TEST(Initialize, DependsOnSeedAndNameOnly) {
  ParameterTable alone, after_others;
  alone.DeclareMatrix("w", 8, 9, {.uniform = 1});
  after_others.DeclareMatrix("other", 30, 2, {.normal = 1});
  after_others.DeclareMatrix("w", 8, 9, {.uniform = 1});
  after_others.DeclareMatrix("w2", 8, 9, {.uniform = 1});
  alone.Allocate();
  after_others.Allocate();
  alone.Initialize(1);
  after_others.Initialize(1);
  const std::vector<float> first = ValuesOf(alone, "w");
  EXPECT_EQ(first, ValuesOf(after_others, "w"));
  EXPECT_NE(first, ValuesOf(after_others, "w2"));
  alone.Initialize(2);
  EXPECT_NE(first, ValuesOf(alone, "w"));
  alone.Initialize(1);
  EXPECT_EQ(first, ValuesOf(alone, "w"));
}

TEST(Initialize, FillsGlorotsRange) {
  const int64_t out = 60, in = 40;
  ParameterTable table;
  Parameter& p = table.DeclareMatrix("w", out, in, GlorotUniform(out, in));
  table.Allocate();
  table.Initialize(3);
  const double limit = std::sqrt(6.0 / (out + in));
  double sum = 0, largest = 0, squares = 0;
  for (int64_t i = 0; i < p.size(); ++i) {
    const double v = p.value.data[i];
    sum += v;
    squares += v * v;
    largest = std::max(largest, std::abs(v));
  }
  const auto count = static_cast<double>(p.size());
  EXPECT_LE(largest, limit * (1 + 1e-6));
  EXPECT_GT(largest, 0.99 * limit);
  // Five standard errors of 2,400 uniform numbers.
  EXPECT_NEAR(sum / count, 0, 5 * limit / std::sqrt(3 * count));
  EXPECT_NEAR(squares / count, limit * limit / 3, 0.1 * limit * limit / 3);
}

TEST(Initialize, DrawsNormalNumbersOfTheDeviation) {
  ParameterTable table;
  Parameter& p = table.DeclareMatrix("w", 100, 100, {.normal = 0.5f});
  table.Allocate();
  table.Initialize(4);
  double sum = 0, squares = 0;
  int64_t beyond_two = 0;
  for (int64_t i = 0; i < p.size(); ++i) {
    const double v = p.value.data[i];
    sum += v;
    squares += v * v;
    beyond_two += std::abs(v) > 1 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 1e4, 0, 0.025);
  EXPECT_NEAR(squares / 1e4, 0.25, 0.02);
  EXPECT_NEAR(static_cast<double>(beyond_two) / 1e4, 0.0455, 0.011);
}

TEST(Initialize, SetsConstants) {
  ParameterTable table;
  table.DeclareVector("gain", 5, 1);
  table.Allocate();
  table.Initialize(5);
  EXPECT_EQ(ValuesOf(table, "gain"), std::vector<float>(5, 1.0f));
}

TEST(TransformerParameters, AreContiguousWithUniqueNames) {
  Transformer network(SmallConfig());
  network.parameters().Allocate();
  int64_t end = 0;
  std::set<std::string> names;
  network.parameters().ForEachParameter([&](const Parameter& p) {
    EXPECT_EQ(p.offset, end) << p.name;
    EXPECT_EQ(p.value.data, network.parameters().values() + end) << p.name;
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    end += p.size();
  });
  EXPECT_EQ(end, network.parameters().size());
}

TEST(TransformerParameters, HavePyTorchsNamesInOrder) {
  TransformerConfig config = SmallConfig();
  config.encoder_layers = config.decoder_layers = 1;
  config.norm = NormPlace::kPre;
  config.tied_embeddings = false;
  const Transformer network(config);
  EXPECT_EQ(NamesOf(network.parameters()),
            (std::vector<std::string>{
                "source_embedding.weight",
                "target_embedding.weight",
                "encoder.layers.0.self_attn.in_proj_weight",
                "encoder.layers.0.self_attn.in_proj_bias",
                "encoder.layers.0.self_attn.out_proj.weight",
                "encoder.layers.0.self_attn.out_proj.bias",
                "encoder.layers.0.linear1.weight",
                "encoder.layers.0.linear1.bias",
                "encoder.layers.0.linear2.weight",
                "encoder.layers.0.linear2.bias",
                "encoder.layers.0.norm1.weight",
                "encoder.layers.0.norm1.bias",
                "encoder.layers.0.norm2.weight",
                "encoder.layers.0.norm2.bias",
                "encoder.norm.weight",
                "encoder.norm.bias",
                "decoder.layers.0.self_attn.in_proj_weight",
                "decoder.layers.0.self_attn.in_proj_bias",
                "decoder.layers.0.self_attn.out_proj.weight",
                "decoder.layers.0.self_attn.out_proj.bias",
                "decoder.layers.0.multihead_attn.in_proj_weight",
                "decoder.layers.0.multihead_attn.in_proj_bias",
                "decoder.layers.0.multihead_attn.out_proj.weight",
                "decoder.layers.0.multihead_attn.out_proj.bias",
                "decoder.layers.0.linear1.weight",
                "decoder.layers.0.linear1.bias",
                "decoder.layers.0.linear2.weight",
                "decoder.layers.0.linear2.bias",
                "decoder.layers.0.norm1.weight",
                "decoder.layers.0.norm1.bias",
                "decoder.layers.0.norm2.weight",
                "decoder.layers.0.norm2.bias",
                "decoder.layers.0.norm3.weight",
                "decoder.layers.0.norm3.bias",
                "decoder.norm.weight",
                "decoder.norm.bias",
                "output.weight",
                "output.bias",
            }));
}

TEST(TransformerParameters, ALanguageModelIsADecoderAlone) {
  TransformerConfig config = SmallConfig();
  config.type = ModelType::kLanguageModel;
  config.encoder_layers = 0;
  config.decoder_layers = 1;
  config.norm = NormPlace::kPre;
  config.tied_embeddings = false;
  const Transformer network(config);
  EXPECT_EQ(NamesOf(network.parameters()),
            (std::vector<std::string>{
                "target_embedding.weight",
                "decoder.layers.0.self_attn.in_proj_weight",
                "decoder.layers.0.self_attn.in_proj_bias",
                "decoder.layers.0.self_attn.out_proj.weight",
                "decoder.layers.0.self_attn.out_proj.bias",
                "decoder.layers.0.linear1.weight",
                "decoder.layers.0.linear1.bias",
                "decoder.layers.0.linear2.weight",
                "decoder.layers.0.linear2.bias",
                "decoder.layers.0.norm1.weight",
                "decoder.layers.0.norm1.bias",
                "decoder.layers.0.norm2.weight",
                "decoder.layers.0.norm2.bias",
                "decoder.norm.weight",
                "decoder.norm.bias",
                "output.weight",
                "output.bias",
            }));
}

// What a network with these positions has and a sinusoidal one has not.
std::vector<std::string> NamesThatPositionsAdd(PositionKind position) {
  TransformerConfig config = SmallConfig();
  config.encoder_layers = config.decoder_layers = 1;
  std::vector<std::string> plain = NamesOf(Transformer(config).parameters());
  config.position = position;
  std::vector<std::string> added;
  for (const std::string& name : NamesOf(Transformer(config).parameters())) {
    if (std::find(plain.begin(), plain.end(), name) == plain.end()) {
      added.push_back(name);
    }
  }
  return added;
}

TEST(TransformerParameters, PositionsAddWhatTheyLearn) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(NamesThatPositionsAdd(PositionKind::kRotary), Strings{});
  EXPECT_EQ(NamesThatPositionsAdd(PositionKind::kAlibi), Strings{});
  EXPECT_EQ(NamesThatPositionsAdd(PositionKind::kLearned),
            (Strings{"source_position.weight", "target_position.weight"}));
  EXPECT_EQ(NamesThatPositionsAdd(PositionKind::kRelative),
            (Strings{"encoder.layers.0.self_attn.relative_key",
                     "encoder.layers.0.self_attn.relative_value",
                     "decoder.layers.0.self_attn.relative_key",
                     "decoder.layers.0.self_attn.relative_value"}));
}

TEST(TransformerParameters, TiedEmbeddingsAreOneMatrix) {
  const Transformer network(SmallConfig());
  const std::vector<std::string> names = NamesOf(network.parameters());
  EXPECT_EQ(names.front(), "embedding.weight");
  EXPECT_EQ(names.back(), "output.bias");
  int embeddings = 0;
  for (const std::string& name : names) {
    embeddings += name.find("embedding") != std::string::npos ? 1 : 0;
    EXPECT_NE(name, "output.weight");
  }
  EXPECT_EQ(embeddings, 1);
}

TEST(TransformerParameters, TiedEmbeddingsNeedOneVocabulary) {
  TransformerConfig config = SmallConfig();
  config.target_vocab = config.source_vocab + 1;
  EXPECT_THROW(Transformer{config}, std::logic_error);
}

TEST(TransformerParameters, HeadsDivideTheWidth) {
  TransformerConfig config = SmallConfig();
  config.num_heads = 5;
  EXPECT_THROW(Transformer{config}, std::logic_error);
}

}  // namespace
}  // namespace pipeformer
