// The promises on which decoding stands: a query's result is the same, to the
// last bit, alone and in a batch, as the last of a sequence and within a longer
// one.
#include <gtest/gtest.h>

#include <vector>

#include "lib/ops/attention.h"
#include "tests/support/attention_batch.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"

namespace pipeformer {
namespace {

constexpr int64_t kHeadDims[] = {1, 3, 7, 16, 17, 32, 33, 64};

// Every query of the one sentence alone, seeing what is before it.
void ExpectStepsLikeTheWhole(const AttentionShape& shape) {
  AttentionBatch batch(shape);
  const TestMatrix whole = batch.Forward();
  const AttentionGroup sequence = batch.groups[0];
  batch.options.causal = false;
  for (int64_t t = 0; t < sequence.num_queries; ++t) {
    AttentionGroup& step = batch.groups[0];
    step = sequence;
    step.first_query = t;
    step.num_queries = 1;
    step.num_keys = t + 1;
    if (step.mask != nullptr) step.mask += t * sequence.num_keys;
    step.weights = nullptr;
    ASSERT_TRUE(
        HasSameBits(batch.Forward().view().Rows(t, 1), whole.view().Rows(t, 1)))
        << shape << ", step " << t << " of " << sequence.num_queries;
  }
}

class AttentionLawTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AttentionLawTest);

TEST_P(AttentionLawTest, AStepEqualsItsRowOfTheCausalSequence) {
  for (const int64_t head_dim : kHeadDims) {
    for (const int64_t length : {1, 5, 16, 17, 50, 115}) {
      for (const AttentionShape& shape : WithEveryBias({.num_heads = 2,
                                         .head_dim = head_dim,
                                         .sentences = {{length, length}},
                                         .causal = true,
                                         .range = 3})) {
        ExpectStepsLikeTheWhole(shape);
      }
    }
  }
}

TEST_P(AttentionLawTest, ASentenceAloneEqualsItselfInABatch) {
  for (const int64_t head_dim : kHeadDims) {
    for (const bool causal : {false, true}) {
      for (const AttentionShape& shape :
           WithEveryBias({.num_heads = 2,
           .head_dim = head_dim,
           .sentences = {{3, 3}, {40, 40}, {1, 1}, {18, 18}, {4, 4}},
           .causal = causal})) {
        AttentionBatch batch(shape);
        const TestMatrix together = batch.Forward();
        const std::vector<AttentionGroup> groups = batch.groups;
        for (const AttentionGroup& g : groups) {
          batch.groups = {g};
          const TestMatrix alone = batch.Forward();
          EXPECT_TRUE(
              HasSameBits(alone.view().Rows(g.first_query, g.num_queries),
                          together.view().Rows(g.first_query, g.num_queries)))
              << shape;
        }
      }
    }
  }
}

TEST_P(AttentionLawTest, AQueryAloneEqualsItselfAmongOthers) {
  for (const Masking masking :
       {Masking::kNone, Masking::kShared, Masking::kPerHead}) {
    AttentionBatch batch({.num_heads = 2,
                          .head_dim = 7,
                          .sentences = {{11, 29}},
                          .masking = masking});
    const TestMatrix together = batch.Forward();
    const AttentionGroup whole = batch.groups[0];
    for (int64_t t = 0; t < 11; ++t) {
      AttentionGroup& alone = batch.groups[0];
      alone.first_query = t;
      alone.num_queries = 1;
      if (whole.mask != nullptr) alone.mask = whole.mask + t * whole.num_keys;
      EXPECT_TRUE(HasSameBits(batch.Forward().view().Rows(t, 1),
                              together.view().Rows(t, 1)));
    }
  }
}

}  // namespace
}  // namespace pipeformer
