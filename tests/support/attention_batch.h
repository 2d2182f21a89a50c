// A ragged batch for tests of attention: queries, keys and values of several
// sentences at random, the groups that name them, and the twin's view of each.
#ifndef PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_
#define PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_

#include <cstdint>
#include <vector>

#include "lib/ops/attention.h"
#include "lib/tensor/arena.h"
#include "tests/support/reference.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {

struct SentenceLengths {
  int64_t num_queries, num_keys;
};

struct AttentionShape {
  int64_t num_heads = 1;
  int64_t head_dim = 1;
  std::vector<SentenceLengths> sentences;
  bool causal = false;
  Dropout dropout = {};
  Layout layout = Layout::kDense;
  float range = 1;  // of queries and keys
};

class AttentionBatch {
 public:
  explicit AttentionBatch(const AttentionShape& shape);

  // The result over all rows; fills the weights of every group.
  TestMatrix Forward();

  // Adds to d_query, d_keys and d_values. Requires: Forward went before.
  void Backward(Matrix d_dst);

  // Scratch for `groups`, of exactly the size asked for.
  float* Scratch();

  // What the twin needs to know of one group. The rule holds the dropout mask,
  // found by running the op on values that show the weights.
  reference::Sentence SentenceOf(const AttentionGroup& group) const;
  reference::AttentionRule RuleOf(const AttentionGroup& group);

  // The weights of a group as the twin orders them.
  reference::DoubleMatrix WeightsOf(const AttentionGroup& group) const;

  AttentionShape shape;
  AttentionOptions options;
  TestMatrix query, keys, values;
  TestMatrix d_query, d_keys, d_values;
  std::vector<AttentionGroup> groups;

 private:
  reference::DoubleMatrix KeptWeights(const AttentionGroup& group);

  Arena arena_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_ATTENTION_BATCH_H_
