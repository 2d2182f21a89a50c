// The backward pass of attention against central differences of its twin.
#include <gtest/gtest.h>

#include <vector>

#include "lib/ops/attention.h"
#include "tests/support/attention_batch.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

// The gradients of one group before or after the backward pass.
struct Gradients {
  Gradients(const AttentionBatch& b, const AttentionGroup& g)
      : query(b.d_query.view().Rows(g.first_query, g.num_queries)),
        keys(Matrix{g.d_keys, g.num_keys, b.query.view().cols,
                    b.options.key_stride}),
        values(Matrix{g.d_values, g.num_keys, b.query.view().cols,
                      b.options.value_stride}),
        mask(b.MaskGradientOf(static_cast<size_t>(&g - b.groups.data()))) {}

  DoubleMatrix query, keys, values, mask;
};

// One group as the twin sees it, and the gradient of its result.
struct TwinGroup {
  reference::Sentence sentence;
  reference::AttentionRule rule;
  DoubleMatrix d_dst;
  DoubleMatrix d_weights = {};  // from elsewhere; without rows: none

  double Loss() const {
    const double loss =
        reference::Dot(reference::Attention(sentence, rule), d_dst);
    if (d_weights.rows == 0) return loss;
    return loss + reference::Dot(reference::AttentionWeights(sentence, rule),
                                 d_weights);
  }
};

void ExpectSlopes(const TwinGroup& at, const Gradients& before,
                  const Gradients& after) {
  // `part` of a group is what moves.
  const auto check = [&](auto part, const DoubleMatrix& start,
                         const DoubleMatrix& end) {
    TwinGroup moved = at;
    const auto loss = [&](const DoubleMatrix& x) {
      part(moved) = x;
      return moved.Loss();
    };
    TwinGroup still = at;
    return IsGradient({loss, part(still), start, end, 1e-5}, Random(8));
  };
  const auto query = [](TwinGroup & g) -> auto& { return g.sentence.query; };
  const auto keys = [](TwinGroup & g) -> auto& { return g.sentence.keys; };
  const auto values = [](TwinGroup & g) -> auto& { return g.sentence.values; };
  const auto mask = [](TwinGroup & g) -> auto& { return g.rule.mask; };
  // These are set, those of masks and relative vectors are added to.
  const auto zeros = [](const DoubleMatrix& like) {
    return DoubleMatrix(like.rows, like.cols);
  };
  EXPECT_TRUE(check(query, zeros(before.query), after.query));
  EXPECT_TRUE(check(keys, zeros(before.keys), after.keys));
  EXPECT_TRUE(check(values, zeros(before.values), after.values));
  if (at.rule.mask.rows == 0) return;
  EXPECT_TRUE(check(mask, before.mask, after.mask));
}

// Every group has a part in the gradient of the relative vectors.
void ExpectRelativeSlopes(std::vector<TwinGroup> groups,
                          DoubleMatrix reference::AttentionRule::*vectors,
                          const DoubleMatrix& before,
                          const DoubleMatrix& after) {
  const DoubleMatrix at = groups[0].rule.*vectors;
  const auto loss = [&](const DoubleMatrix& x) {
    double sum = 0;
    for (TwinGroup& g : groups) {
      g.rule.*vectors = x;
      sum += g.Loss();
    }
    return sum;
  };
  EXPECT_TRUE(IsGradient({loss, at, before, after, 1e-5}, Random(8)));
}

// Whether the weights have a gradient of their own beside the result's.
enum class Guided { kNo, kYes };

// Gives every group such a gradient, in `memory`.
void Guide(AttentionBatch& batch, std::vector<TestMatrix>& memory) {
  for (AttentionGroup& g : batch.groups) {
    const int64_t rows = batch.options.num_heads * g.num_queries;
    memory.push_back(TestMatrix::Uniform(rows, PaddedKeys(g.num_keys),
                                         Random(9 + memory.size()), 1));
    g.d_weights = memory.back().view().data;
  }
}

void ExpectGradients(const AttentionShape& shape, Guided guided = Guided::kNo) {
  SCOPED_TRACE(testing::Message() << shape);
  AttentionBatch batch(shape);
  std::vector<TestMatrix> d_weights;
  if (guided == Guided::kYes) Guide(batch, d_weights);
  const TestMatrix d_dst =
      TestMatrix::Uniform(batch.query.view().rows, batch.query.view().cols,
                          Random(7), 1, shape.layout);
  std::vector<Gradients> before;
  for (const AttentionGroup& g : batch.groups) before.emplace_back(batch, g);
  const DoubleMatrix d_relative_keys = batch.d_relative_keys.view();
  const DoubleMatrix d_relative_values = batch.d_relative_values.view();
  batch.Forward();
  batch.Backward(d_dst);
  EXPECT_TRUE(batch.d_query.GuardIsIntact());
  EXPECT_TRUE(batch.d_keys.GuardIsIntact());
  EXPECT_TRUE(batch.d_values.GuardIsIntact());
  std::vector<TwinGroup> twins;
  for (size_t i = 0; i < batch.groups.size(); ++i) {
    const AttentionGroup& g = batch.groups[i];
    SCOPED_TRACE(testing::Message()
                 << g.num_queries << " queries " << g.num_keys << " keys");
    twins.push_back({batch.SentenceOf(g), batch.RuleOf(g),
                     d_dst.view().Rows(g.first_query, g.num_queries)});
    if (guided == Guided::kYes) {
      twins.back().d_weights = d_weights[i].view().Columns(0, g.num_keys);
    }
    ExpectSlopes(twins.back(), before[i], Gradients(batch, g));
  }
  if (shape.relative_clip < 0) return;
  using reference::AttentionRule;
  ExpectRelativeSlopes(twins, &AttentionRule::relative_keys, d_relative_keys,
                       batch.d_relative_keys.view());
  ExpectRelativeSlopes(twins, &AttentionRule::relative_values,
                       d_relative_values, batch.d_relative_values.view());
}

class AttentionGradientTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AttentionGradientTest);

TEST_P(AttentionGradientTest, OfSmallSentencesElementByElement) {
  for (const int64_t head_dim : {1, 2, 3, 5}) {
    for (const bool causal : {false, true}) {
      ExpectGradients({.num_heads = 2,
                       .head_dim = head_dim,
                       .sentences = {{4, 4}, {1, 1}, {0, 0}, {3, 5}, {2, 1}},
                       .causal = causal,
                       .layout = Layout::kSlice});
    }
  }
}

TEST_P(AttentionGradientTest, OfManyWidths) {
  for (const int64_t head_dim : {7, 15, 16, 17, 33, 64, 100}) {
    for (const int64_t num_heads : {1, 3, 8}) {
      ExpectGradients({.num_heads = num_heads,
                       .head_dim = head_dim,
                       .sentences = {{6, 6}, {1, 9}, {17, 17}},
                       .causal = head_dim % 2 == 0});
    }
  }
}

TEST_P(AttentionGradientTest, OfCrossAttentionAndLongSentences) {
  for (const int64_t num_keys : {1, 15, 16, 17, 33, 130}) {
    ExpectGradients({.num_heads = 2,
                     .head_dim = 8,
                     .sentences = {{5, num_keys}, {13, num_keys}}});
  }
  ExpectGradients({.num_heads = 1,
                   .head_dim = 8,
                   .sentences = {{110, 110}},
                   .causal = true});
}

TEST_P(AttentionGradientTest, WithDropout) {
  for (const int64_t head_dim : {1, 3, 16, 33}) {
    for (const bool causal : {false, true}) {
      ExpectGradients({.num_heads = 2,
                       .head_dim = head_dim,
                       .sentences = {{3, 3}, {1, 1}, {18, 18}, {2, 40}},
                       .causal = causal,
                       .dropout = {0.4f, 99},
                       .layout = Layout::kSlice});
    }
  }
}

TEST_P(AttentionGradientTest, WithEveryBias) {
  for (const int64_t head_dim : {1, 3, 16, 17}) {
    for (const bool causal : {false, true}) {
      for (const AttentionShape& shape :
           WithEveryBias({.num_heads = 2,
           .head_dim = head_dim,
           .sentences = {{4, 4}, {1, 1}, {0, 0}, {19, 19}},
           .causal = causal,
           .layout = Layout::kSlice})) {
        ExpectGradients(shape);
      }
    }
  }
}

TEST_P(AttentionGradientTest, WithEveryBiasAcrossAndWithDropout) {
  for (const float dropout : {0.0f, 0.4f}) {
    for (const AttentionShape& shape : WithEveryBias({.num_heads = 3,
                                       .head_dim = 5,
                                       .sentences = {{3, 7}, {9, 33}, {6, 2}},
                                       .dropout = {dropout, 5}})) {
      ExpectGradients(shape);
    }
  }
}

// With dropout, which is of the result alone, and with what moves scores.
TEST_P(AttentionGradientTest, OfWeightsThatAreGuided) {
  for (const float dropout : {0.0f, 0.4f}) {
    for (const int64_t head_dim : {1, 5, 16}) {
      for (const AttentionShape& shape :
           WithEveryBias({.num_heads = 3,
           .head_dim = head_dim,
           .sentences = {{3, 7}, {9, 33}, {1, 1}, {0, 2}},
           .dropout = {dropout, 5}})) {
        ExpectGradients(shape, Guided::kYes);
      }
    }
  }
}

}  // namespace
}  // namespace pipeformer
