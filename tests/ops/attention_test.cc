#include "lib/ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/attention_batch.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

class AttentionTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AttentionTest);

TEST_P(AttentionTest, SelfAttentionEqualsItsTwin) {
  for (const int64_t head_dim : {1, 2, 3, 7, 15, 16, 17, 33, 64, 100}) {
    for (const int64_t num_heads : {1, 2, 3, 8}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(testing::Message() << num_heads << " x " << head_dim);
        AttentionBatch batch(
            {.num_heads = num_heads,
             .head_dim = head_dim,
             .sentences = {{5, 5}, {1, 1}, {0, 0}, {17, 17}},
             .causal = causal,
             .layout = head_dim % 2 == 0 ? Layout::kDense : Layout::kSlice});
        ExpectTwin(batch, 2e-6);
      }
    }
  }
}

TEST_P(AttentionTest, CrossAttentionEqualsItsTwin) {
  for (const int64_t num_keys : {1, 2, 15, 16, 17, 31, 32, 33, 70}) {
    AttentionBatch batch(
        {.num_heads = 2,
         .head_dim = 7,
         .sentences = {{1, num_keys}, {4, num_keys}, {6, 3}, {9, num_keys}},
         .layout = Layout::kSlice});
    ExpectTwin(batch, 2e-6);
  }
}

TEST_P(AttentionTest, LongSequencesEqualTheirTwin) {
  for (const bool causal : {false, true}) {
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 8,
                          .sentences = {{130, 130}, {257, 257}, {3, 300}},
                          .causal = causal});
    ExpectTwin(batch, 2e-6);
  }
}

TEST_P(AttentionTest, LargeScoresSaturateWithoutNaN) {
  for (const float range : {30.0f, 1000.0f}) {  // scores up to a million
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 4,
                          .sentences = {{20, 20}, {3, 1}},
                          .range = range});
    // Rounding a score of size s moves its weight by about s * 1e-7.
    ExpectTwin(batch, 2e-7 * (10 + 2 * range * range));
    for (const AttentionGroup& g : batch.groups) {
      for (const double w : batch.WeightsOf(g).values) {
        ASSERT_TRUE(w >= 0 && w <= 1.00001);
      }
    }
  }
}

TEST_P(AttentionTest, WeightsSumToOneAndAreZeroWhereUnseen) {
  for (const bool causal : {false, true}) {
    AttentionBatch batch({.num_heads = 3,
                          .head_dim = 5,
                          .sentences = {{6, 6}, {40, 40}, {7, 21}},
                          .causal = causal,
                          .range = 5});
    batch.Forward();
    for (const AttentionGroup& g : batch.groups) {
      const int64_t padded = PaddedKeys(g.num_keys);
      for (int64_t row = 0; row < 3 * g.num_queries; ++row) {
        const int64_t t = row % g.num_queries;
        const int64_t visible =
            causal ? g.num_keys - g.num_queries + t + 1 : g.num_keys;
        const float* w = g.weights + row * padded;
        double sum = 0;
        for (int64_t j = 0; j < visible; ++j) sum += w[j];
        EXPECT_NEAR(sum, 1, 1e-5);
        for (int64_t j = visible; j < padded; ++j) EXPECT_EQ(w[j], 0) << j;
      }
    }
  }
}

// Field cases att-all-padded and att-row-masked: without any key there is
// nothing to mix, hence zeros, and no NaN.
TEST_P(AttentionTest, AQueryThatSeesNoKeyGetsZeros) {
  AttentionBatch batch({.num_heads = 2,
                        .head_dim = 5,
                        .sentences = {{3, 0}, {9, 4}, {6, 1}},
                        .causal = true});
  const TestMatrix dst = batch.Forward();
  for (const AttentionGroup& g : batch.groups) {
    for (int64_t t = 0; t < g.num_queries; ++t) {
      const float* row = dst.view().Row(g.first_query + t);
      const bool blind = t < g.num_queries - g.num_keys;
      EXPECT_EQ(std::all_of(row, row + 10, [](float x) { return x == 0; }),
                blind);
    }
    for (const double w : batch.WeightsOf(g).values) {
      EXPECT_TRUE(std::isfinite(w));
    }
  }
  TestMatrix d_dst = TestMatrix::Uniform(18, 10, Random(9));
  batch.Backward(d_dst);
  for (const double x : DoubleMatrix(batch.d_query).values) {
    EXPECT_TRUE(std::isfinite(x));
  }
}

// A score that is not a number is told, however few keys there are: nothing
// may take it for a key that is not seen.
TEST_P(AttentionTest, NaNIsHandedOn) {
  for (const int64_t keys : {1, 2, 3, 4, 17}) {
    AttentionBatch batch(
        {.num_heads = 1, .head_dim = 4, .sentences = {{1, keys}, {1, keys}}});
    batch.query.view().Row(0)[1] = std::numeric_limits<float>::quiet_NaN();
    const TestMatrix dst = batch.Forward();
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_TRUE(std::isnan(dst.view().Row(0)[i])) << keys;
      EXPECT_TRUE(std::isfinite(dst.view().Row(1)[i])) << keys;
    }
  }
}

TEST_P(AttentionTest, WithoutAskingForWeightsTheResultIsTheSame) {
  for (const float p : {0.0f, 0.3f}) {
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 7,
                          .sentences = {{5, 5}, {33, 33}},
                          .dropout = {p, 3}});
    const TestMatrix with = batch.Forward();
    for (AttentionGroup& g : batch.groups) g.weights = nullptr;
    EXPECT_TRUE(HasSameBits(batch.Forward(), with));
  }
}

TEST_P(AttentionTest, DropoutEqualsItsTwin) {
  for (const int64_t head_dim : {1, 3, 16, 33}) {
    for (const bool causal : {false, true}) {
      AttentionBatch batch({.num_heads = 2,
                            .head_dim = head_dim,
                            .sentences = {{5, 5}, {1, 1}, {18, 18}},
                            .causal = causal,
                            .dropout = {0.4f, 1234567}});
      ExpectTwin(batch, 4e-6);
    }
  }
}

TEST_P(AttentionTest, DropoutKeepsItsShareAndDiffersByHeadQueryAndKey) {
  AttentionBatch batch({.num_heads = 4,
                        .head_dim = 64,
                        .sentences = {{50, 60}, {50, 60}},
                        .dropout = {0.5f, 9}});
  const DoubleMatrix kept = batch.RuleOf(batch.groups[0]).kept;
  const DoubleMatrix next = batch.RuleOf(batch.groups[1]).kept;
  EXPECT_EQ(batch.RuleOf(batch.groups[0]).kept.values, kept.values);
  batch.options.dropout.key = 10;
  const DoubleMatrix other = batch.RuleOf(batch.groups[0]).kept;
  double share = 0, as_next = 0, as_other = 0, as_row = 0, as_head = 0;
  for (int64_t r = 0; r < 150; ++r) {
    for (int64_t j = 0; j < 60; ++j) {
      const bool stays = kept(r, j) != 0;
      share += stays;
      as_next += stays == (next(r, j) != 0);
      as_other += stays == (other(r, j) != 0);
      as_row += stays == (kept(r + 1, j) != 0);
      as_head += stays == (kept(r + 50, j) != 0);
    }
  }
  for (const double x : {share, as_next, as_other, as_row, as_head}) {
    EXPECT_NEAR(x / 9000, 0.5, 5 * std::sqrt(0.25 / 9000));
  }
}

}  // namespace
}  // namespace pipeformer
