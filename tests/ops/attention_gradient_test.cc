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
                      b.options.value_stride}) {}

  DoubleMatrix query, keys, values;
};

void ExpectSlopes(AttentionBatch& batch, const AttentionGroup& g,
                  const DoubleMatrix& d_dst, const Gradients& before) {
  const reference::Sentence at = batch.SentenceOf(g);
  const reference::AttentionRule rule = batch.RuleOf(g);
  const Gradients after(batch, g);
  const auto check = [&](DoubleMatrix reference::Sentence::*part,
                         const DoubleMatrix& start, const DoubleMatrix& end) {
    const auto loss = [&](const DoubleMatrix& x) {
      reference::Sentence moved = at;
      moved.*part = x;
      return reference::Dot(reference::Attention(moved, rule), d_dst);
    };
    return IsGradient({loss, at.*part, start, end, 1e-5}, Random(8));
  };
  using reference::Sentence;
  EXPECT_TRUE(check(&Sentence::query, before.query, after.query));
  EXPECT_TRUE(check(&Sentence::keys, before.keys, after.keys));
  EXPECT_TRUE(check(&Sentence::values, before.values, after.values));
}

void ExpectGradients(const AttentionShape& shape) {
  AttentionBatch batch(shape);
  const TestMatrix d_dst =
      TestMatrix::Uniform(batch.query.view().rows, batch.query.view().cols,
                          Random(7), 1, shape.layout);
  std::vector<Gradients> before;
  for (const AttentionGroup& g : batch.groups) before.emplace_back(batch, g);
  batch.Forward();
  batch.Backward(d_dst);
  EXPECT_TRUE(batch.d_query.GuardIsIntact());
  EXPECT_TRUE(batch.d_keys.GuardIsIntact());
  EXPECT_TRUE(batch.d_values.GuardIsIntact());
  for (size_t i = 0; i < batch.groups.size(); ++i) {
    const AttentionGroup& g = batch.groups[i];
    SCOPED_TRACE(testing::Message()
                 << shape.num_heads << " x " << shape.head_dim << ", "
                 << g.num_queries << " queries " << g.num_keys << " keys");
    ExpectSlopes(batch, g, d_dst.view().Rows(g.first_query, g.num_queries),
                 before[i]);
  }
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

}  // namespace
}  // namespace pipeformer
