#include "tests/support/attention_batch.h"

#include <algorithm>
#include <cmath>

namespace pipeformer {

using reference::DoubleMatrix;

namespace {

int64_t Total(const AttentionShape& shape, int64_t SentenceLengths::*length) {
  int64_t total = 0;
  for (const SentenceLengths& s : shape.sentences) total += s.*length;
  return total;
}

TestMatrix Rows(const AttentionShape& shape, int64_t SentenceLengths::*length,
                uint64_t seed, float range) {
  return TestMatrix::Uniform(Total(shape, length),
                             shape.num_heads * shape.head_dim, Random(seed),
                             range, shape.layout);
}

}  // namespace

AttentionBatch::AttentionBatch(const AttentionShape& s)
    : shape(s),
      query(Rows(s, &SentenceLengths::num_queries, 1, s.range)),
      keys(Rows(s, &SentenceLengths::num_keys, 2, s.range)),
      values(Rows(s, &SentenceLengths::num_keys, 3, 1)),
      d_query(Rows(s, &SentenceLengths::num_queries, 4, 1)),
      d_keys(Rows(s, &SentenceLengths::num_keys, 5, 1)),
      d_values(Rows(s, &SentenceLengths::num_keys, 6, 1)) {
  options = {.num_heads = s.num_heads,
             .scale = 1 / std::sqrt(static_cast<float>(s.head_dim)),
             .causal = s.causal,
             .key_stride = keys.view().stride,
             .value_stride = values.view().stride,
             .dropout = s.dropout};
  int64_t first_query = 0, first_key = 0;
  for (const SentenceLengths& lengths : s.sentences) {
    AttentionGroup g{.first_query = first_query,
                     .num_queries = lengths.num_queries,
                     .num_keys = lengths.num_keys,
                     .keys = keys.view().Row(first_key),
                     .values = values.view().Row(first_key),
                     .d_keys = d_keys.view().Row(first_key),
                     .d_values = d_values.view().Row(first_key)};
    g.weights = arena_.Array<float>(AttentionWeightsSize(g, s.num_heads));
    groups.push_back(g);
    first_query += lengths.num_queries;
    first_key += lengths.num_keys;
  }
}

float* AttentionBatch::Scratch() {
  return arena_.Array<float>(
      AttentionScratchSize(groups, options, shape.head_dim));
}

TestMatrix AttentionBatch::Forward() {
  TestMatrix dst(query.view().rows, query.view().cols, shape.layout);
  AttentionForward(query, groups, options, Scratch(), dst);
  return dst;
}

void AttentionBatch::Backward(Matrix d_dst) {
  AttentionBackward(query, d_dst, groups, options, Scratch(), d_query);
}

reference::Sentence AttentionBatch::SentenceOf(const AttentionGroup& g) const {
  const int64_t width = query.view().cols;
  return {
      query.view().Rows(g.first_query, g.num_queries),
      Matrix{const_cast<float*>(g.keys), g.num_keys, width, options.key_stride},
      Matrix{const_cast<float*>(g.values), g.num_keys, width,
             options.value_stride}};
}

reference::AttentionRule AttentionBatch::RuleOf(const AttentionGroup& group) {
  return {
      .num_heads = options.num_heads,
      .scale = options.scale,
      .causal = options.causal,
      .dropout = options.dropout.probability,
      .kept = options.dropout.active() ? KeptWeights(group) : DoubleMatrix()};
}

DoubleMatrix AttentionBatch::WeightsOf(const AttentionGroup& g) const {
  const Matrix padded{g.weights, options.num_heads * g.num_queries,
                      PaddedKeys(g.num_keys), PaddedKeys(g.num_keys)};
  return padded.Columns(0, g.num_keys);
}

// Values that are one at key j in column j - begin carry the weights of keys
// [begin, begin + head_dim) into the result.
DoubleMatrix AttentionBatch::KeptWeights(const AttentionGroup& group) {
  const int64_t head_dim = shape.head_dim, n = group.num_queries;
  DoubleMatrix kept(options.num_heads * n, group.num_keys);
  TestMatrix dst(query.view().rows, query.view().cols);
  AttentionGroup g = group;
  g.weights = nullptr;
  AttentionOptions probe = options;
  probe.scale = 0;  // every weight alike, none too small to see
  for (int64_t begin = 0; begin < g.num_keys; begin += head_dim) {
    TestMatrix show(g.num_keys, query.view().cols);
    const int64_t end = std::min(begin + head_dim, g.num_keys);
    for (int64_t c = 0; c < show.view().cols; ++c) {
      const int64_t j = begin + c % head_dim;
      if (j < end) show(j, c) = 1;
    }
    g.values = show.view().data;
    probe.value_stride = show.view().stride;
    AttentionForward(query, {&g, 1}, probe, Scratch(), dst);
    for (int64_t row = 0; row < kept.rows; ++row) {
      for (int64_t j = begin; j < end; ++j) {
        kept(row, j) =
            dst(g.first_query + row % n, row / n * head_dim + j - begin);
      }
    }
  }
  return kept;
}

}  // namespace pipeformer
