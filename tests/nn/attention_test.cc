// Multi-head attention with all its options, output and gradients against a
// twin in double precision: separate widths, extra keys, masks, no bias.
#include "lib/nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "tests/nn/golden.h"
#include "tests/support/compare.h"
#include "tests/support/reference.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidth = 12, kHeads = 3;
constexpr int32_t kQueryOffsets[] = {0, 4, 5, 8};
constexpr int32_t kKeyOffsets[] = {0, 6, 7, 7};  // the last sees no own key
constexpr int64_t kSentences = 3;

enum class Masked { kNo, kShared, kPerHead };

struct Case {
  std::string name;
  AttentionConfig config;
  Masked masked = Masked::kNo;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
  }
};

// All that the result is made of; `masks` one a sentence, or none.
struct Inputs {
  std::map<std::string, DoubleMatrix> parameters;
  DoubleMatrix query, key, value;
  std::vector<DoubleMatrix> masks;
};

DoubleMatrix RowsOf(const DoubleMatrix& m, int64_t begin, int64_t end) {
  DoubleMatrix rows(end - begin, m.cols);
  for (int64_t r = begin; r < end; ++r) {
    for (int64_t c = 0; c < m.cols; ++c) rows(r - begin, c) = m(r, c);
  }
  return rows;
}

// The rows of `b` after those of `a`.
DoubleMatrix Below(const DoubleMatrix& a, const DoubleMatrix& b) {
  DoubleMatrix both(a.rows + b.rows, b.cols);
  std::copy(a.values.begin(), a.values.end(), both.values.begin());
  std::copy(b.values.begin(), b.values.end(),
            both.values.begin() + static_cast<int64_t>(a.values.size()));
  return both;
}

// Projection `number`: 0 query, 1 key, 2 value.
DoubleMatrix Project(const Inputs& in, int64_t number, const DoubleMatrix& x) {
  const char* names[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
  const int64_t begin = number * kWidth, end = begin + kWidth;
  const auto own = in.parameters.find(names[number]);
  const DoubleMatrix weight =
      own != in.parameters.end()
          ? own->second
          : RowsOf(in.parameters.at("in_proj_weight"), begin, end);
  const auto bias = in.parameters.find("in_proj_bias");
  if (bias == in.parameters.end()) return reference::Linear(x, weight, {});
  DoubleMatrix part(1, kWidth);
  for (int64_t c = 0; c < kWidth; ++c) part(0, c) = bias->second(0, begin + c);
  return reference::Linear(x, weight, part);
}

DoubleMatrix Twin(const AttentionConfig& config, const Inputs& in) {
  DoubleMatrix mixed(0, kWidth);
  for (int64_t s = 0; s < kSentences; ++s) {
    const auto keys_of = [&](const DoubleMatrix& m) {
      return RowsOf(m, kKeyOffsets[s], kKeyOffsets[s + 1]);
    };
    reference::Sentence sentence{
        Project(in, 0,
                RowsOf(in.query, kQueryOffsets[s], kQueryOffsets[s + 1])),
        Project(in, 1, keys_of(in.key)), Project(in, 2, keys_of(in.value))};
    const auto append = [&](const DoubleMatrix& key,
                            const DoubleMatrix& value) {
      sentence.keys = Below(sentence.keys, key);
      sentence.values = Below(sentence.values, value);
    };
    if (config.bias_kv) {
      append(in.parameters.at("bias_k"), in.parameters.at("bias_v"));
    }
    if (config.zero_attention) {
      append(DoubleMatrix(1, kWidth), DoubleMatrix(1, kWidth));
    }
    reference::AttentionRule rule{
        .num_heads = kHeads,
        .scale = config.scale == AttentionScale::kNone
                     ? 1
                     : 1 / std::sqrt(static_cast<double>(kWidth / kHeads)),
        .causal = config.mask == Mask::kCausal,
        .window = config.window};
    if (!in.masks.empty()) rule.mask = in.masks[static_cast<size_t>(s)];
    mixed = Below(mixed, reference::Attention(sentence, rule));
  }
  const auto bias = in.parameters.find("out_proj.bias");
  return reference::Linear(
      mixed, in.parameters.at("out_proj.weight"),
      bias == in.parameters.end() ? DoubleMatrix() : bias->second);
}

class Attention : public testing::TestWithParam<Case> {
 protected:
  Attention() : config_(GetParam().config) {
    config_.d_model = kWidth;
    config_.num_heads = kHeads;
    attention_ = MultiHeadAttention(table_, "", config_);
    table_.Allocate();
    Random random(1);
    table_.ForEachParameter([&](Parameter& p) {
      for (int64_t i = 0; i < p.size(); ++i) {
        p.value.data[i] = static_cast<float>(random.Uniform() - 0.5);
      }
      inputs_.parameters[p.name] = p.value;
    });
    const auto width = [](int64_t w) { return w == 0 ? kWidth : w; };
    inputs_.query = TestMatrix::Uniform(8, kWidth, Random(2)).view();
    inputs_.key =
        TestMatrix::Uniform(7, width(config_.key_dim), Random(3)).view();
    inputs_.value =
        TestMatrix::Uniform(7, width(config_.value_dim), Random(4)).view();
    if (GetParam().masked != Masked::kNo) MakeMasks();
  }

  void MakeMasks() {
    Random random(5);
    const int64_t heads = GetParam().masked == Masked::kPerHead ? kHeads : 1;
    for (int64_t s = 0; s < kSentences; ++s) {
      const int64_t queries = kQueryOffsets[s + 1] - kQueryOffsets[s];
      const int64_t keys =
          kKeyOffsets[s + 1] - kKeyOffsets[s] + config_.extra_keys();
      TestMatrix& mask = masks_.emplace_back(heads * queries, keys);
      TestMatrix& d_mask = d_masks_.emplace_back(heads * queries, keys);
      for (int64_t i = 0; i < mask.view().size(); ++i) {
        const auto x = static_cast<float>(4 * random.Uniform() - 2);
        mask.view().data[i] = random.Below(4) == 0 ? -HUGE_VALF : x;
      }
      inputs_.masks.push_back(mask.view());
      sentence_masks_.push_back({.values = mask.view().data,
                                 .head_stride = heads == 1 ? 0 : queries * keys,
                                 .gradient = d_mask.view().data});
    }
  }

  AttentionConfig config_;
  ParameterTable table_;
  MultiHeadAttention attention_;
  Inputs inputs_;
  std::vector<TestMatrix> masks_, d_masks_;
  std::vector<SentenceMask> sentence_masks_;
};

TEST_P(Attention, OutputAndGradientsAreTheTwins) {
  TapedPass pass(table_);
  const Variable query = pass.Input(inputs_.query.values, kWidth);
  const Variable key = pass.Input(inputs_.key.values, inputs_.key.cols);
  const Variable value = pass.Input(inputs_.value.values, inputs_.value.cols);
  const Variable y = attention_(pass.context, {query, key, value, kQueryOffsets,
                                               kKeyOffsets, sentence_masks_});
  EXPECT_TRUE(IsClose(y.value, Twin(config_, inputs_), 2e-6));
  const DoubleMatrix d_y = TestMatrix::Uniform(8, kWidth, Random(6)).view();
  pass.Backward(y, d_y.values);
  // `part` is one of inputs_, `gradient` what the network has for it.
  const auto expect_gradient = [&](DoubleMatrix& part, Matrix gradient,
                                   const std::string& name) {
    const DoubleMatrix at = part;
    const auto loss = [&](const DoubleMatrix& x) {
      part = x;
      return reference::Dot(Twin(config_, inputs_), d_y);
    };
    EXPECT_TRUE(IsGradient({loss, at, DoubleMatrix(at.rows, at.cols), gradient},
                           Random(7)))
        << name;
    part = at;
  };
  expect_gradient(inputs_.query, query.grad, "query");
  expect_gradient(inputs_.key, key.grad, "key");
  expect_gradient(inputs_.value, value.grad, "value");
  table_.ForEachParameter([&](const Parameter& p) {
    expect_gradient(inputs_.parameters.at(p.name),
                    GradientOf(p, pass.gradients()), p.name);
  });
  for (size_t s = 0; s < masks_.size(); ++s) {
    expect_gradient(inputs_.masks[s], d_masks_[s].view(), "mask");
  }
}

TEST_P(Attention, WithoutATapeTheOutputIsTheSame) {
  TapedPass taped(table_);
  Arena arena;
  Context plain{.arena = arena};
  const auto run = [&](Context& context) {
    const Variable query = taped.Input(inputs_.query.values, kWidth);
    const Variable key = taped.Input(inputs_.key.values, inputs_.key.cols);
    const Variable value =
        taped.Input(inputs_.value.values, inputs_.value.cols);
    return attention_(context, {query, key, value, kQueryOffsets, kKeyOffsets,
                                sentence_masks_});
  };
  EXPECT_TRUE(
      IsClose(run(plain).value, DoubleMatrix(run(taped.context).value), 1e-6));
}

INSTANTIATE_TEST_SUITE_P(
    Options, Attention,
    testing::Values(
        Case{"Plain", {}}, Case{"NoBias", {.bias = false}},
        Case{"Unscaled", {.scale = AttentionScale::kNone}},
        Case{"Causal", {.mask = Mask::kCausal}}, Case{"Window", {.window = 1}},
        Case{"KeyWidth", {.key_dim = 5}}, Case{"ValueWidth", {.value_dim = 7}},
        Case{"BothWidths", {.key_dim = 20, .value_dim = 1}},
        Case{"BothWidthsNoBias", {.bias = false, .key_dim = 5, .value_dim = 7}},
        Case{"BiasKv", {.bias_kv = true}},
        Case{"ZeroAttention", {.zero_attention = true}},
        Case{"EveryExtra",
             {.bias = false,
              .key_dim = 5,
              .bias_kv = true,
              .zero_attention = true}},
        Case{"Masked", {}, Masked::kShared},
        Case{"MaskedByHead", {}, Masked::kPerHead},
        Case{"MaskedExtra",
             {.bias_kv = true, .zero_attention = true},
             Masked::kShared},
        Case{"MaskedExtraByHead",
             {.value_dim = 7, .bias_kv = true, .zero_attention = true},
             Masked::kPerHead}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pipeformer
