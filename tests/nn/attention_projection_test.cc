// The projections of multi-head attention: fused or apart, under PyTorch's
// names, and what options do not go together.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/attention.h"
#include "tests/nn/golden.h"
#include "tests/support/reference.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidth = 12, kHeads = 3;
constexpr int32_t kQueryOffsets[] = {0, 4, 5, 8};

// One input for all three, or one for key and value, makes one product of
// their projections; copies of it make three.
TEST(FusedProjections, EqualSeparateOnes) {
  ParameterTable table;
  const MultiHeadAttention attention(table, "",
                                     {.d_model = kWidth, .num_heads = kHeads});
  table.Allocate();
  table.Initialize(3);
  const DoubleMatrix x = TestMatrix::Uniform(8, kWidth, Random(8)).view();
  const DoubleMatrix d_y = TestMatrix::Uniform(8, kWidth, Random(9)).view();
  TapedPass fused(table), half(table), apart(table);
  const auto run = [&](TapedPass& pass, const std::vector<Variable>& in) {
    const Variable y = attention(
        pass.context, {in[0], in[1], in[2], kQueryOffsets, kQueryOffsets});
    pass.Backward(y, d_y.values);
    DoubleMatrix sum(8, kWidth);  // of the gradients of all parts
    for (size_t i = 0; i < in.size(); ++i) {
      if (i > 0 && in[i].value.data == in[i - 1].value.data) continue;
      const DoubleMatrix part = in[i].grad;
      for (size_t k = 0; k < sum.values.size(); ++k) {
        sum.values[k] += part.values[k];
      }
    }
    return std::pair(DoubleMatrix(y.value), sum);
  };
  const auto input = [&](TapedPass& pass) {
    return pass.Input(x.values, kWidth);
  };
  const Variable one = input(fused), two = input(half), both = input(half);
  const auto [y, d_x] = run(apart, {input(apart), input(apart), input(apart)});
  for (const auto& [other, d_other] :
       {run(fused, {one, one, one}), run(half, {two, both, both})}) {
    for (size_t i = 0; i < y.values.size(); ++i) {
      EXPECT_NEAR(other.values[i], y.values[i], 1e-6);
      EXPECT_NEAR(d_other.values[i], d_x.values[i], 1e-6);
    }
  }
  for (int64_t i = 0; i < table.size(); ++i) {
    EXPECT_NEAR(fused.gradients()[i], apart.gradients()[i], 2e-6);
    EXPECT_NEAR(half.gradients()[i], apart.gradients()[i], 2e-6);
  }
}

// Extra keys stand at no distance from a query.
TEST(ExtraKeys, DoNotGoWithWhatCountsDistances) {
  const AttentionConfig refused[] = {
      {.mask = Mask::kCausal, .bias_kv = true},
      {.window = 2, .zero_attention = true},
      {.positions = std::make_shared<const AttentionPositions>(
           TransformerConfig{.position = PositionKind::kAlibi}),
       .bias_kv = true}};
  for (const AttentionConfig& config : refused) {
    ParameterTable table;
    EXPECT_THROW(MultiHeadAttention(table, "", config), std::logic_error);
  }
}

std::vector<std::string> Names(const AttentionConfig& config) {
  ParameterTable table;
  const MultiHeadAttention attention(table, "x.", config);
  std::vector<std::string> names;
  table.ForEachParameter([&](const Parameter& p) { names.push_back(p.name); });
  return names;
}

TEST(AttentionParameters, HavePyTorchsNames) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Names({.bias = false}),
            (Strings{"x.in_proj_weight", "x.out_proj.weight"}));
  EXPECT_EQ(Names({.key_dim = 9, .bias_kv = true}),
            (Strings{"x.q_proj_weight", "x.k_proj_weight", "x.v_proj_weight",
                     "x.in_proj_bias", "x.bias_k", "x.bias_v",
                     "x.out_proj.weight", "x.out_proj.bias"}));
}

}  // namespace
}  // namespace pipeformer
