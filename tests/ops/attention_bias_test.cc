// What is added to the scores of attention, against the twin: masks, linear
// biases, windows and relative vectors. Also by examples small enough to see.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lib/ops/attention.h"
#include "tests/support/attention_batch.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

void ExpectTwin(const AttentionShape& shape) {
  SCOPED_TRACE(testing::Message() << shape);
  AttentionBatch batch(shape);
  pipeformer::ExpectTwin(batch, 4e-6);
}

class AttentionBiasTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AttentionBiasTest);

TEST_P(AttentionBiasTest, SelfAttentionEqualsItsTwin) {
  for (const int64_t head_dim : {1, 3, 7, 16, 17, 33, 64}) {
    for (const bool causal : {false, true}) {
      for (const AttentionShape& shape :
           WithEveryBias({.num_heads = 3,
           .head_dim = head_dim,
           .sentences = {{5, 5}, {1, 1}, {0, 0}, {17, 17}, {40, 40}},
           .causal = causal,
           .layout = Layout::kSlice})) {
        ExpectTwin(shape);
      }
    }
  }
}

TEST_P(AttentionBiasTest, CrossAttentionEqualsItsTwin) {
  for (const int64_t num_keys : {1, 15, 16, 17, 33}) {
    for (const AttentionShape& shape :
         WithEveryBias({.num_heads = 2,
         .head_dim = 7,
         .sentences = {{1, num_keys}, {9, num_keys}}})) {
      ExpectTwin(shape);
    }
  }
}

TEST_P(AttentionBiasTest, DropoutEqualsItsTwin) {
  for (const AttentionShape& shape : WithEveryBias({.num_heads = 2,
                                     .head_dim = 9,
                                     .sentences = {{5, 5}, {18, 18}},
                                     .causal = true,
                                     .dropout = {0.4f, 77}})) {
    ExpectTwin(shape);
  }
}

TEST_P(AttentionBiasTest, RelativeVectorsReachAnyDistance) {
  for (const int64_t clip : {0, 1, 7, 8, 20, 100}) {
    ExpectTwin({.num_heads = 2,
                .head_dim = 5,
                .sentences = {{20, 20}, {3, 9}},
                .relative_clip = clip});
  }
}

// Scores of 1e9 on single keys: what people write instead of infinity.
TEST_P(AttentionBiasTest, LargeFiniteMasksHideLikeInfinity) {
  AttentionBatch batch({.num_heads = 2,
                        .head_dim = 5,
                        .sentences = {{6, 21}},
                        .masking = Masking::kShared});
  const Matrix mask = batch.MaskOf(0);
  for (int64_t j = 0; j < 21; ++j) mask.Row(1)[j] = 0;  // no row all hidden
  const TestMatrix infinite = batch.Forward();
  for (int64_t i = 0; i < mask.size(); ++i) {
    if (std::isinf(mask.data[i])) mask.data[i] = -1e9f;
  }
  EXPECT_TRUE(HasSameBits(batch.Forward(), infinite));
}

TEST_P(AttentionBiasTest, AMaskOfMinusInfinityIsTheCausalOne) {
  for (const int64_t length : {4, 17, 40}) {
    AttentionBatch masked({.num_heads = 2,
                           .head_dim = 6,
                           .sentences = {{length, length}},
                           .masking = Masking::kShared});
    for (int64_t t = 0; t < length; ++t) {
      for (int64_t j = 0; j < length; ++j) {
        masked.MaskOf(0).Row(t)[j] = j > t ? -HUGE_VALF : 0;
      }
    }
    AttentionBatch causal({.num_heads = 2,
                           .head_dim = 6,
                           .sentences = {{length, length}},
                           .causal = true});
    EXPECT_TRUE(
        IsClose(masked.Forward(), DoubleMatrix(causal.Forward().view()), 1e-6));
  }
}

// Field cases att-all-padded and att-row-masked, by mask.
TEST_P(AttentionBiasTest, AQueryWithEveryKeyHiddenGetsZerosAndNoGradient) {
  for (const Masking masking : {Masking::kShared, Masking::kPerHead}) {
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 5,
                          .sentences = {{7, 7}, {3, 18}},
                          .masking = masking,
                          .relative_clip = 2});
    batch.d_query = TestMatrix(10, 10);
    const TestMatrix dst = batch.Forward();
    batch.Backward(TestMatrix::Uniform(10, 10, Random(9)));
    for (const AttentionGroup& g : batch.groups) {
      for (int64_t c = 0; c < 10; ++c) {  // see Masking for query 1
        EXPECT_EQ(dst.view().Row(g.first_query + 1)[c], 0);
        EXPECT_EQ(batch.d_query.view().Row(g.first_query + 1)[c], 0);
      }
    }
    for (const TestMatrix* gradient :
         {&batch.d_query, &batch.d_keys, &batch.d_values,
          &batch.d_relative_keys, &batch.d_relative_values}) {
      for (const double x : DoubleMatrix(gradient->view()).values) {
        ASSERT_TRUE(std::isfinite(x));
      }
    }
    for (const double x : DoubleMatrix(batch.MaskGradientOf(0)).values) {
      ASSERT_TRUE(std::isfinite(x));
    }
  }
}

TEST_P(AttentionBiasTest, AWindowSeesItsNeighboursAlone) {
  for (const bool causal : {false, true}) {
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 4,
                          .sentences = {{40, 40}},
                          .causal = causal,
                          .window = 3});
    batch.Forward();
    const DoubleMatrix weights = batch.WeightsOf(batch.groups[0]);
    for (int64_t row = 0; row < weights.rows; ++row) {
      const int64_t t = row % 40;
      for (int64_t j = 0; j < 40; ++j) {
        const bool seen = std::abs(j - t) <= 3 && (!causal || j <= t);
        EXPECT_EQ(weights(row, j) > 0, seen) << t << " and " << j;
      }
    }
  }
}

TEST(LinearBiasSlopes, FollowTheFormula) {
  for (const int64_t heads : {1, 2, 3, 8, 12, 16, 20}) {
    std::vector<float> slopes(static_cast<size_t>(heads));
    LinearBiasSlopes(slopes);
    for (int64_t h = 0; h < heads; ++h) {
      const double expected = std::pow(
          2.0, -8.0 * static_cast<double>(h + 1) / static_cast<double>(heads));
      EXPECT_NEAR(slopes[static_cast<size_t>(h)], expected, 1e-7 * expected);
    }
  }
}

// Press et al. 2022, section 3: 1/2, 1/4, ... 1/256 for eight heads.
TEST(LinearBiasSlopes, OfEightHeadsAreThoseOfThePaper) {
  std::vector<float> slopes(8);
  LinearBiasSlopes(slopes);
  float expected = 0.5f;
  for (const float slope : slopes) {
    EXPECT_EQ(slope, expected);
    expected /= 2;
  }
}

}  // namespace
}  // namespace pipeformer
