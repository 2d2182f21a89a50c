#include "tests/support/attention_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/compare.h"

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

TestMatrix Vectors(const AttentionShape& shape, uint64_t seed) {
  const int64_t rows =
      shape.relative_clip < 0 ? 0 : 2 * shape.relative_clip + 1;
  return TestMatrix::Uniform(rows, shape.head_dim, Random(seed), shape.range);
}

}  // namespace

std::vector<AttentionShape> WithEveryBias(const AttentionShape& shape) {
  std::vector<AttentionShape> all(7, shape);
  all[1].masking = Masking::kShared;
  all[2].masking = Masking::kPerHead;
  all[3].slopes = true;
  all[4].window = 2;
  all[5].relative_clip = 3;
  all[6] = shape;
  all[6].masking = Masking::kPerHead;
  all[6].slopes = true;
  all[6].window = 6;
  all[6].relative_clip = 1;
  return all;
}

std::ostream& operator<<(std::ostream& out, const AttentionShape& s) {
  out << s.num_heads << " heads of " << s.head_dim;
  if (s.causal) out << ", causal";
  if (s.masking == Masking::kShared) out << ", mask";
  if (s.masking == Masking::kPerHead) out << ", mask for each head";
  if (s.slopes) out << ", slopes";
  if (s.window > 0) out << ", window " << s.window;
  if (s.relative_clip >= 0) out << ", relative to " << s.relative_clip;
  return out;
}

AttentionBatch::AttentionBatch(const AttentionShape& s)
    : shape(s),
      query(Rows(s, &SentenceLengths::num_queries, 1, s.range)),
      keys(Rows(s, &SentenceLengths::num_keys, 2, s.range)),
      values(Rows(s, &SentenceLengths::num_keys, 3, 1)),
      d_query(Rows(s, &SentenceLengths::num_queries, 4, 1)),
      d_keys(Rows(s, &SentenceLengths::num_keys, 5, 1)),
      d_values(Rows(s, &SentenceLengths::num_keys, 6, 1)),
      relative_keys(Vectors(s, 10)),
      relative_values(Vectors(s, 11)),
      d_relative_keys(Vectors(s, 12)),
      d_relative_values(Vectors(s, 13)) {
  options = {.num_heads = s.num_heads,
             .scale = 1 / std::sqrt(static_cast<float>(s.head_dim)),
             .causal = s.causal,
             .window = s.window,
             .key_stride = keys.view().stride,
             .value_stride = values.view().stride,
             .dropout = s.dropout};
  if (s.slopes) {
    for (int64_t h = 0; h < s.num_heads; ++h) {
      slopes_.push_back(0.6f / static_cast<float>(h + 1));
    }
    options.slopes = slopes_.data();
  }
  if (s.relative_clip >= 0) {
    options.relative = {.clip = s.relative_clip,
                        .keys = relative_keys.view().data,
                        .values = relative_values.view().data,
                        .d_keys = d_relative_keys.view().data,
                        .d_values = d_relative_values.view().data};
  }
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
    AddMask(g);
    groups.push_back(g);
    first_query += lengths.num_queries;
    first_key += lengths.num_keys;
  }
}

void AttentionBatch::AddMask(AttentionGroup& g) {
  const bool per_head = shape.masking == Masking::kPerHead;
  const int64_t rows = shape.masking == Masking::kNone
                           ? 0
                           : g.num_queries * (per_head ? shape.num_heads : 1);
  const Random random = Random(20).Fork(masks_.size());
  TestMatrix& mask = masks_.emplace_back(
      TestMatrix::Uniform(rows, g.num_keys, random.Fork(0), 2));
  TestMatrix& d_mask = d_masks_.emplace_back(
      TestMatrix::Uniform(rows, g.num_keys, random.Fork(1)));
  Random hides = random.Fork(2);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < g.num_keys; ++j) {
      if (hides.Below(4) == 0 || r % g.num_queries == 1) {
        mask(r, j) = -HUGE_VALF;
      }
    }
  }
  if (rows == 0) return;
  g.mask = mask.view().data;
  g.d_mask = d_mask.view().data;
  g.mask_head_stride = per_head ? g.num_queries * g.num_keys : 0;
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
  const auto stride = group.mask_head_stride;
  const int64_t mask_rows =
      group.mask == nullptr
          ? 0
          : group.num_queries * (stride == 0 ? 1 : options.num_heads);
  return {
      .num_heads = options.num_heads,
      .scale = options.scale,
      .causal = options.causal,
      .window = options.window,
      .slopes = {slopes_.begin(), slopes_.end()},
      .mask = DenseMatrix(const_cast<float*>(group.mask), mask_rows,
                          group.num_keys),
      .relative_keys = relative_keys.view(),
      .relative_values = relative_values.view(),
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
  g.mask = nullptr;
  AttentionOptions probe = options;
  probe.scale = 0;  // every weight alike, none too small to see
  probe.window = 0;
  probe.slopes = nullptr;
  probe.relative = {};
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

void ExpectTwin(AttentionBatch& batch, double tolerance) {
  const TestMatrix dst = batch.Forward();
  EXPECT_TRUE(dst.GuardIsIntact());
  for (const AttentionGroup& g : batch.groups) {
    SCOPED_TRACE(testing::Message()
                 << g.num_queries << " queries " << g.num_keys << " keys");
    const auto sentence = batch.SentenceOf(g);
    const auto rule = batch.RuleOf(g);
    EXPECT_TRUE(IsClose(dst.view().Rows(g.first_query, g.num_queries),
                        reference::Attention(sentence, rule), tolerance));
    const reference::DoubleMatrix expected =
        reference::AttentionWeights(sentence, rule);
    const Matrix weights{g.weights, expected.rows, expected.cols,
                         PaddedKeys(g.num_keys)};
    EXPECT_TRUE(IsClose(weights, expected, tolerance));
  }
}

}  // namespace pipeformer
