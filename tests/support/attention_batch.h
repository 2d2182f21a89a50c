// A ragged batch for tests of attention: queries, keys and values of several
// sentences at random, the groups that name them, and the twin's view of each.
#ifndef PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_
#define PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_

#include <cstdint>
#include <ostream>
#include <vector>

#include "lib/ops/attention.h"
#include "lib/tensor/arena.h"
#include "tests/support/reference.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {

struct SentenceLengths {
  int64_t num_queries, num_keys;
};

// A mask at random: a quarter of the keys hidden, and all from query 1.
enum class Masking { kNone, kShared, kPerHead };

struct AttentionShape {
  int64_t num_heads = 1;
  int64_t head_dim = 1;
  std::vector<SentenceLengths> sentences;
  bool causal = false;
  Masking masking = Masking::kNone;
  bool slopes = false;  // linear biases
  int64_t window = 0;
  int64_t relative_clip = -1;  // of relative vectors; -1: none
  Dropout dropout = {};
  Layout layout = Layout::kDense;
  float range = 1;  // of queries and keys
};

// `shape` plain, with each thing that moves scores, and with all of them.
std::vector<AttentionShape> WithEveryBias(const AttentionShape& shape);
std::ostream& operator<<(std::ostream& out, const AttentionShape& shape);

class AttentionBatch {
 public:
  explicit AttentionBatch(const AttentionShape& shape);

  // The result over all rows; fills the weights of every group.
  TestMatrix Forward();

  // All gradients. Requires: Forward went before.
  void Backward(Matrix d_dst);

  // Scratch for `groups`, of exactly the size asked for.
  float* Scratch();

  // What the twin needs to know of one group. The rule holds the dropout mask,
  // found by running the op on values that show the weights.
  reference::Sentence SentenceOf(const AttentionGroup& group) const;
  reference::AttentionRule RuleOf(const AttentionGroup& group);

  // The mask of group i, and its gradient; without rows where there is none.
  Matrix MaskOf(size_t i) const { return masks_[i]; }
  Matrix MaskGradientOf(size_t i) const { return d_masks_[i]; }

  // The weights of a group as the twin orders them.
  reference::DoubleMatrix WeightsOf(const AttentionGroup& group) const;

  AttentionShape shape;
  AttentionOptions options;
  TestMatrix query, keys, values;
  TestMatrix d_query, d_keys, d_values;
  // [2 clip + 1, head_dim], without rows where there are none.
  TestMatrix relative_keys, relative_values;
  TestMatrix d_relative_keys, d_relative_values;
  std::vector<AttentionGroup> groups;

 private:
  void AddMask(AttentionGroup& group);
  reference::DoubleMatrix KeptWeights(const AttentionGroup& group);

  Arena arena_;
  std::vector<float> slopes_;
  std::vector<TestMatrix> masks_, d_masks_;  // of each group
};

// Runs forward: every group's rows of the result, and its weights, equal the
// twin's within `tolerance`, and nothing beside them is written.
void ExpectTwin(AttentionBatch& batch, double tolerance);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_
