// A step gives every hypothesis what the whole sequence gives it, to the last
// bit, however many stand together and wherever their rows lie.
#include "lib/ops/attention_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/support/attention_batch.h"
#include "tests/support/compare.h"
#include "tests/support/instruction_sets.h"

namespace pipeformer {
namespace {

// Rows of keys and values in blocks, as a cache holds them. What is not
// written is no number.
class Blocks {
 public:
  Blocks(int64_t num_rows, int64_t width) : width_(width) {
    const int64_t count = PaddedKeys(num_rows) / kKeyBlock;
    memory_.assign(static_cast<size_t>(count * StepBlockSize(width)),
                   std::numeric_limits<float>::quiet_NaN());
    for (int64_t b = 0; b < count; ++b) {
      blocks_.push_back(memory_.data() + b * StepBlockSize(width));
    }
  }

  void Put(int64_t row, const float* key, const float* value) {
    PutRow(key, value, width_, row, blocks_.data());
  }
  float* const* data() const { return blocks_.data(); }

 private:
  int64_t width_;
  std::vector<float> memory_;
  std::vector<float*> blocks_;
};

// Runs a step of one group over all rows of `batch.query` from the first on.
TestMatrix Step(const AttentionBatch& batch, StepGroup group) {
  const Matrix query = batch.query.view();
  Arena arena;
  TestMatrix dst(query.rows, query.cols);
  float* scratch = arena.Array<float>(AttentionStepScratchSize(
      {&group, 1}, batch.options, batch.shape.head_dim));
  AttentionStep(query, {&group, 1}, batch.options, scratch, dst);
  return dst;
}

constexpr int64_t kHeadDims[] = {1, 3, 7, 16, 17, 32, 33, 64};

class AttentionStepTest : public KernelTest {};
FOR_EACH_INSTRUCTION_SET(AttentionStepTest);

TEST_P(AttentionStepTest, GivesTheLastRowOfTheSequence) {
  for (const int64_t head_dim : kHeadDims) {
    for (const int64_t num_heads : {1, 2, 4, 5}) {
      for (const int64_t length : {1, 5, 16, 17, 50}) {
        for (AttentionShape shape : WithEveryBias({.num_heads = num_heads,
                                    .head_dim = head_dim,
                                    .sentences = {{1, length}},
                                    .range = 3})) {
          shape.masking = Masking::kNone;  // steps have none
          AttentionBatch batch(shape);
          const TestMatrix expected = batch.Forward();
          const int64_t width = num_heads * head_dim;
          Blocks blocks(length, width);
          PutRows(batch.keys, batch.values, blocks.data());
          std::vector<float> weights(static_cast<size_t>(
              AttentionWeightsSize(batch.groups[0], num_heads)));
          StepQuery query = {.num_keys = length, .weights = weights.data()};
          const TestMatrix dst = Step(batch, {.queries = {&query, 1},
                                              .num_rows = length,
                                              .blocks = blocks.data()});
          ASSERT_TRUE(HasSameBits(dst, expected)) << shape;
          ASSERT_TRUE(std::equal(weights.begin(), weights.end(),
                                 batch.groups[0].weights));
        }
      }
    }
  }
}

// Hypotheses of different lengths, rows in any order, rows of nobody between.
TEST_P(AttentionStepTest, HypothesesTakeTheirKeysFromAnyRow) {
  for (const int64_t head_dim : kHeadDims) {
    for (const int64_t beams : {1, 2, 3, 4, 5, 6, 7, 13}) {
      std::vector<SentenceLengths> lengths;
      int64_t total = 0;
      for (int64_t b = 0; b < beams; ++b) {
        lengths.push_back({1, 5 + 6 * b});
        total += lengths.back().num_keys;
      }
      AttentionBatch plain(
          {.num_heads = 3, .head_dim = head_dim, .sentences = lengths});
      const TestMatrix expected = plain.Forward();
      const int64_t num_rows = total + 9;
      std::vector<int32_t> place(static_cast<size_t>(num_rows));
      std::iota(place.begin(), place.end(), 0);
      Shuffle(place, Random(4));
      Blocks blocks(num_rows, 3 * head_dim);
      for (int64_t i = 0; i < total; ++i) {
        blocks.Put(place[static_cast<size_t>(i)], plain.keys.view().Row(i),
                   plain.values.view().Row(i));
      }
      std::vector<StepQuery> queries;
      int64_t first = 0;
      for (const SentenceLengths& l : lengths) {
        queries.push_back(
            {.num_keys = l.num_keys, .key_rows = place.data() + first});
        first += l.num_keys;
      }
      EXPECT_TRUE(HasSameBits(Step(plain, {.queries = queries,
                                           .num_rows = num_rows,
                                           .blocks = blocks.data()}),
                              expected))
          << head_dim << " x " << beams;
    }
  }
}

// As in cross attention: all rows are everyone's keys.
TEST_P(AttentionStepTest, HypothesesShareTheRowsOfTheSource) {
  for (const int64_t head_dim : kHeadDims) {
    for (const int64_t beams : {1, 2, 5, 6, 8, 11}) {
      for (const int64_t length : {1, 16, 21, 40}) {
        AttentionBatch batch({.num_heads = 2,
                              .head_dim = head_dim,
                              .sentences = {{beams, length}}});
        Blocks blocks(length, 2 * head_dim);
        PutRows(batch.keys, batch.values, blocks.data());
        std::vector<StepQuery> queries(static_cast<size_t>(beams),
                                       {.num_keys = length});
        EXPECT_TRUE(HasSameBits(Step(batch, {.queries = queries,
                                             .num_rows = length,
                                             .blocks = blocks.data()}),
                                batch.Forward()))
            << head_dim << " x " << beams << " x " << length;
      }
    }
  }
}

TEST_P(AttentionStepTest, NaNIsHandedOn) {
  AttentionBatch batch({.num_heads = 1, .head_dim = 4, .sentences = {{2, 3}}});
  batch.query.view().Row(0)[1] = std::numeric_limits<float>::quiet_NaN();
  Blocks blocks(3, 4);
  PutRows(batch.keys, batch.values, blocks.data());
  std::vector<StepQuery> queries(2, {.num_keys = 3});
  const TestMatrix dst =
      Step(batch, {.queries = queries, .num_rows = 3, .blocks = blocks.data()});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::isnan(dst.view().Row(0)[i]));
    EXPECT_TRUE(std::isfinite(dst.view().Row(1)[i]));
  }
}

}  // namespace
}  // namespace pipeformer
