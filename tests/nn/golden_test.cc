// The network against PyTorch's numbers: double precision there, single here,
// so within 2e-5 in outputs and gradients.
#include "tests/nn/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "lib/nn/attention.h"
#include "lib/nn/layers.h"
#include "lib/nn/transformer.h"
#include "tests/nn/slow_twin.h"

namespace pipeformer {
namespace {

constexpr double kTolerance = 2e-5;
constexpr double kTwinOutput = 1e-9;
constexpr double kTwinGradient = 1e-7;  // by central differences

TransformerConfig ConfigOf(const Json& config) {
  return {.d_model = config.at("d_model"),
          .num_heads = config.at("nhead"),
          .ffn_dim = config.at("dim_feedforward"),
          .encoder_layers = config.value("num_encoder_layers", 0),
          .decoder_layers = config.value("num_decoder_layers", 0),
          .activation = config.at("activation") == "gelu" ? Activation::kGelu
                                                          : Activation::kRelu,
          .norm = config.at("norm_first").get<bool>() ? NormPlace::kPre
                                                      : NormPlace::kPost,
          .final_norm = FinalNorm::kAlways,
          .dropout = 0};
}

Mask MaskOf(const Json& mask) {
  return mask.is_null() ? Mask::kNone : Mask::kCausal;
}

// Gradients by name of parameter or input.
using Gradients = std::map<std::string, DoubleRows>;

// Compares every parameter's gradient; names lose `prefix` characters.
void ExpectParameterGradients(const ParameterTable& table, TapedPass& pass,
                              const Gradients& expected, size_t prefix = 0) {
  table.ForEachParameter([&](const Parameter& p) {
    EXPECT_TRUE(AreNear(GradientOf(p, pass.gradients()),
                        expected.at(p.name.substr(prefix)), kTolerance))
        << p.name;
  });
}

Gradients ParameterGradients(const Json& golden) {
  Gradients gradients;
  for (const auto& [name, _] : golden.at("params").items()) {
    gradients[name] = Flat(golden.at("grads").at(name));
  }
  return gradients;
}

// A case in which one input attends to itself.
struct SelfCase {
  explicit SelfCase(const std::string& id)
      : golden(GoldenCase(id)),
        is_layer(golden.at("kind") == "encoder_layer"),
        input(golden.at(is_layer ? "src" : "query")),
        mask(golden.at(is_layer ? "src_mask" : "attn_mask")),
        layout(input, golden.at(is_layer ? "src_key_padding_mask"
                                         : "key_padding_mask")) {
    const Json& config = golden.at("config");
    shape = {.d_model = config.at(is_layer ? "d_model" : "embed_dim"),
             .num_heads = config.at(is_layer ? "nhead" : "num_heads"),
             .prefix = is_layer ? "self_attn." : ""};
  }

  Json golden;
  bool is_layer;
  Json input;
  Json mask;  // causal or null
  PaddedLayout layout;
  SlowShape shape;
};

// The golden gradients, padded queries included; "input" [all rows] is the sum
// over the parts that the input played.
Gradients GoldenGradients(const SelfCase& c) {
  Gradients gradients = ParameterGradients(c.golden);
  const Json& grads = c.golden.at("grads");
  if (c.is_layer) {
    gradients["input"] = c.layout.AllRows(grads.at("src"));
    return gradients;
  }
  DoubleRows& sum = gradients["input"];
  for (const char* part : {"query", "key", "value"}) {
    const DoubleRows rows = c.layout.AllRows(grads.at(part));
    sum.resize(rows.size());
    std::transform(rows.begin(), rows.end(), sum.begin(), sum.begin(),
                   std::plus<>());
  }
  return gradients;
}

// The twin's output [all rows] for x [all rows].
DoubleRows TwinOutput(const SelfCase& c, const DoubleParameters& parameters,
                      const DoubleRows& x) {
  const int64_t size = c.layout.positions() * c.shape.d_model;
  DoubleRows y;
  for (int64_t s = 0; s < c.layout.sentences(); ++s) {
    const DoubleRows sentence(x.begin() + s * size, x.begin() + (s + 1) * size);
    const auto sees = [&](int64_t t, int64_t j) {
      return c.layout.IsReal(s, j) && (c.mask.is_null() || j <= t);
    };
    const auto twin = c.is_layer ? SlowEncoderLayer : SlowSelfAttention;
    const DoubleRows result = twin(parameters, c.shape, sentence, sees);
    y.insert(y.end(), result.begin(), result.end());
  }
  return y;
}

// The twin's gradients of the sum of `loss_weights` [all rows] times output.
Gradients TwinGradients(const SelfCase& c, const DoubleRows& loss_weights) {
  DoubleParameters parameters;
  for (const auto& [name, values] : c.golden.at("params").items()) {
    parameters[name] = Flat(values);
  }
  DoubleRows x = c.layout.AllRows(c.input);
  const auto loss = [&] {
    const DoubleRows y = TwinOutput(c, parameters, x);
    return std::inner_product(y.begin(), y.end(), loss_weights.begin(), 0.0);
  };
  Gradients gradients;
  gradients["input"] = CentralDifferences(loss, x);
  for (auto& [name, values] : parameters) {
    gradients[name] = CentralDifferences(loss, values);
  }
  return gradients;
}

// The gradients of the real rows' part of the golden loss. Padded positions
// are queries in PyTorch and count in its loss; where there are some, the
// twin, once it has all the golden gradients, leaves them out.
Gradients RealGradients(const SelfCase& c) {
  Gradients golden = GoldenGradients(c);
  if (!c.layout.HasPadding()) return golden;
  const DoubleRows weights = c.layout.AllRows(c.golden.at("loss_weights"));
  const Gradients twin = TwinGradients(c, weights);
  for (const auto& [name, expected] : golden) {
    EXPECT_TRUE(AreNear(twin.at(name), expected, kTwinGradient)) << name;
  }
  return TwinGradients(c, c.layout.ClearPadded(weights));
}

// Runs `layer` on the real rows of a case and compares everything.
using Layer = std::function<Variable(Context&, Variable x,
                                     std::span<const int32_t> offsets)>;
void ExpectSelfCase(const SelfCase& c, const ParameterTable& table,
                    size_t prefix, const Layer& layer) {
  TapedPass pass(table);
  const Variable x = pass.Input(c.layout.RealRows(c.input), c.shape.d_model);
  const Variable y = layer(pass.context, x, c.layout.offsets());
  EXPECT_TRUE(
      AreNear(y.value, c.layout.RealRows(c.golden.at("output")), kTolerance));
  pass.Backward(y, c.layout.RealRows(c.golden.at("loss_weights")));
  const Gradients expected = RealGradients(c);
  ExpectParameterGradients(table, pass, expected, prefix);
  EXPECT_TRUE(
      AreNear(x.grad, c.layout.DropPadded(expected.at("input")), kTolerance));
}

class GoldenSelfAttention : public testing::TestWithParam<const char*> {};

TEST_P(GoldenSelfAttention, OutputAndGradientsAreNear) {
  const SelfCase c(GetParam());
  ParameterTable table;
  const MultiHeadAttention attention(table, "mha.",
                                     {.d_model = c.shape.d_model,
                                      .num_heads = c.shape.num_heads,
                                      .mask = MaskOf(c.mask)});
  SetParameters(c.golden.at("params"), sizeof("mha"), table);
  ExpectSelfCase(c, table, sizeof("mha"),
                 [&](Context& context, Variable x, auto offsets) {
                   return attention(context, {x, x, x, offsets, offsets});
                 });
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenSelfAttention,
                         testing::Values("basic-self", "basic-self-perhead",
                                         "am-2d-bool-causal", "wide"));

class GoldenEncoderLayer : public testing::TestWithParam<const char*> {};

TEST_P(GoldenEncoderLayer, OutputAndGradientsAreNear) {
  const SelfCase c(GetParam());
  ParameterTable table;
  const TransformerConfig config = ConfigOf(c.golden.at("config"));
  const EncoderLayer layer(table, "",
                           {.network = config, .mask = MaskOf(c.mask)}, 0);
  SetParameters(c.golden.at("params"), 0, table);
  ExpectSelfCase(c, table, 0, layer);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenEncoderLayer,
                         testing::Values("enc-post-relu",
                                         "enc-post-gelu-causal",
                                         "enc-pre-relu-pad"));

TEST(GoldenTwin, HasPyTorchsOutputAlsoInPaddedRows) {
  for (const char* id : {"wide", "enc-pre-relu-pad"}) {
    const SelfCase c(id);
    ASSERT_TRUE(c.layout.HasPadding());
    DoubleParameters parameters;
    for (const auto& [name, values] : c.golden.at("params").items()) {
      parameters[name] = Flat(values);
    }
    EXPECT_TRUE(AreNear(TwinOutput(c, parameters, c.layout.AllRows(c.input)),
                        c.layout.AllRows(c.golden.at("output")), kTwinOutput))
        << id;
  }
}

// PyTorch gives NaN in the padded row, hence no gradients to compare with.
TEST(GoldenSelfAttentionOutput, LeftPaddingDropsOut) {
  const SelfCase c("left-pad-causal");
  ParameterTable table;
  const MultiHeadAttention attention(table, "mha.",
                                     {.d_model = c.shape.d_model,
                                      .num_heads = c.shape.num_heads,
                                      .mask = Mask::kCausal});
  SetParameters(c.golden.at("params"), sizeof("mha"), table);
  TapedPass pass(table);
  const Variable x = pass.Input(c.layout.RealRows(c.input), c.shape.d_model);
  const Variable y = attention(
      pass.context, {x, x, x, c.layout.offsets(), c.layout.offsets()});
  EXPECT_TRUE(
      AreNear(y.value, c.layout.RealRows(c.golden.at("output")), kTolerance));
}

// Padded memory is never a query here: its gradient is zero in PyTorch, and
// everything else is the ragged batch's.
TEST(GoldenDecoderLayer, OutputAndGradientsAreNear) {
  const Json golden = GoldenCase("dec-post-relu");
  const TransformerConfig config = ConfigOf(golden.at("config"));
  ParameterTable table;
  const DecoderLayer layer(table, "",
                           {.network = config, .mask = Mask::kCausal}, 0);
  SetParameters(golden.at("params"), 0, table);
  const PaddedLayout target(golden.at("tgt"), nullptr);
  const PaddedLayout source(golden.at("memory"),
                            golden.at("memory_key_padding_mask"));
  ASSERT_TRUE(source.HasPadding());

  TapedPass pass(table);
  const Variable x =
      pass.Input(target.RealRows(golden.at("tgt")), config.d_model);
  const Variable memory =
      pass.Input(source.RealRows(golden.at("memory")), config.d_model);
  const Variable y =
      layer(pass.context, x, {target.offsets(), memory, source.offsets()});
  EXPECT_TRUE(
      AreNear(y.value, target.RealRows(golden.at("output")), kTolerance));
  pass.Backward(y, target.RealRows(golden.at("loss_weights")));
  ExpectParameterGradients(table, pass, ParameterGradients(golden));
  const Json& grads = golden.at("grads");
  EXPECT_TRUE(AreNear(x.grad, target.RealRows(grads.at("tgt")), kTolerance));
  const DoubleRows d_memory = source.AllRows(grads.at("memory"));
  EXPECT_EQ(source.ClearPadded(d_memory), d_memory);
  EXPECT_TRUE(AreNear(memory.grad, source.DropPadded(d_memory), kTolerance));
}

class GoldenTransformer : public testing::TestWithParam<const char*> {};

// A padded source position is a query in the encoder, but nothing sees its
// result: it takes no part in the loss.
TEST_P(GoldenTransformer, OutputAndGradientsAreNear) {
  const Json golden = GoldenCase(GetParam());
  const TransformerConfig config = ConfigOf(golden.at("config"));
  ParameterTable table;
  const TransformerStacks stacks(table, config);
  SetParameters(golden.at("params"), 0, table);
  const PaddedLayout target(golden.at("tgt"), nullptr);
  const PaddedLayout source(golden.at("src"),
                            golden.at("src_key_padding_mask"));
  ASSERT_TRUE(source.HasPadding());

  TapedPass pass(table);
  const Variable x =
      pass.Input(source.RealRows(golden.at("src")), config.d_model);
  const Variable y =
      pass.Input(target.RealRows(golden.at("tgt")), config.d_model);
  const Variable memory = stacks.Encode(pass.context, x, source.offsets());
  const Variable hidden = stacks.Decode(
      pass.context, y, {target.offsets(), memory, source.offsets()});
  EXPECT_TRUE(
      AreNear(hidden.value, target.RealRows(golden.at("output")), kTolerance));
  pass.Backward(hidden, target.RealRows(golden.at("loss_weights")));
  ExpectParameterGradients(table, pass, ParameterGradients(golden));
  const Json& grads = golden.at("grads");
  EXPECT_TRUE(AreNear(y.grad, target.RealRows(grads.at("tgt")), kTolerance));
  const DoubleRows d_source = source.AllRows(grads.at("src"));
  EXPECT_EQ(source.ClearPadded(d_source), d_source);
  EXPECT_TRUE(AreNear(x.grad, source.DropPadded(d_source), kTolerance));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenTransformer,
                         testing::Values("full-post", "full-pre"));

}  // namespace
}  // namespace pipeformer
