#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/attention_backward.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/highway.h"
#include "lib/ops/attention-inl.h"
#include "lib/ops/attention.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

// Scratch of one head's backward pass.
struct BackwardScratch {
  float* packed_values;  // [padded * head_dim]
  float* d_scores;       // [num_queries, padded]
  float* dropped;        // [num_queries, padded]
  RelativeScratch relative;
};

// Fills d_scores and the dropped weights for R queries from t on:
//   d_weights = d_dst value^T;  d_scores = weights (d_weights - their mean
//   under the weights) scale.
template <int R>
HWY_INLINE void ScoreGradients(const Head& h, int64_t t, const float* weights,
                               const float* d_dst, int64_t d_dst_stride,
                               const BackwardScratch& s) {
  const float* rows[R];
  float* d_weights[R];
  for (int r = 0; r < R; ++r) {
    rows[r] = d_dst + (t + r) * d_dst_stride;
    d_weights[r] = s.d_scores + (t + r) * h.padded;
  }
  Products<R>(rows, h.head_dim, s.packed_values, h.padded, 1.0f, d_weights);
  for (int r = 0; r < R; ++r) {
    const float* p = weights + (t + r) * h.padded;
    float* dp = d_weights[r];
    if (h.relative.keys != nullptr) {
      AddRelativeProducts(h, t + r, rows[r], s.relative.packed, 1.0f,
                          h.Visible(t + r), s.relative.sums, dp);
    }
    if (h.dropout.active()) {
      DropRow(h, t + r, dp, dp);
      DropRow(h, t + r, p, s.dropped + (t + r) * h.padded);
    }
    if (h.d_weights != nullptr) {
      const float* more = h.d_weights + (t + r) * h.padded;
      ForEachVector(h.padded, [&](auto d, int64_t j) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, dp + j), hn::LoadU(d, more + j)), d,
                   dp + j);
      });
    }
    const float mean = SumOf(h.padded, [&](auto d, int64_t j) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, p + j), hn::LoadU(d, dp + j));
    });
    ForEachVector(h.padded, [&](auto d, int64_t j) HWY_ATTR {
      const auto centred = hn::Sub(hn::LoadU(d, dp + j), hn::Set(d, mean));
      const auto v = hn::Mul(hn::LoadU(d, p + j), centred);
      hn::StoreU(hn::Mul(v, hn::Set(d, h.scale)), d, dp + j);
    });
  }
}

// d_rows[distance] += sums[distance] * row.
HWY_INLINE void AddOuter(const Head& h, const float* sums, const float* row,
                         float* d_rows) {
  for (int64_t b = 0; b < h.relative.rows(); ++b) {
    if (sums[b] == 0) continue;
    float* to = d_rows + b * h.head_dim;
    ForEachVector(h.head_dim, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::MulAdd(hn::Set(d, sums[b]), hn::LoadU(d, row + i),
                            hn::LoadU(d, to + i)),
                 d, to + i);
    });
  }
}

// The part of the relative vectors in the gradient of query t, and theirs.
HWY_INLINE void RelativeGradients(const Head& h, int64_t t,
                                  const float* d_scores, const float* mixed,
                                  const float* d_dst, float* sums,
                                  float* d_query) {
  const int64_t visible = h.Visible(t);
  SumByDistance(h, t, d_scores, visible, sums);
  WeightedSum<1, true>(
      [&](int, int64_t b) { return sums[b]; }, h.relative.rows(), h.head_dim,
      [&](int64_t b) { return h.relative.keys + b * h.head_dim; }, &d_query);
  AddOuter(h, sums, h.Query(t), h.relative.d_keys);
  SumByDistance(h, t, mixed, visible, sums);
  AddOuter(h, sums, d_dst, h.relative.d_values);
}

// d_keys[j] = the sum over t of weights[t][j] * rows[t], for R keys from j on.
template <int R>
HWY_INLINE void KeyGradients(const Head& h, int64_t j, const float* weights,
                             const float* rows, int64_t row_stride,
                             float* d_keys, int64_t d_stride) {
  float* out[R];
  for (int r = 0; r < R; ++r) out[r] = d_keys + (j + r) * d_stride;
  WeightedSum<R, false>(
      [&](int r, int64_t t) { return weights[t * h.padded + j + r]; },
      h.num_queries, h.head_dim,
      [&](int64_t t) { return rows + t * row_stride; }, out);
}

// What reaches the mask: the gradients of the scores before their scale.
HWY_INLINE void MaskGradients(const Head& h, const float* d_scores) {
  for (int64_t t = 0; t < h.num_queries; ++t) {
    const float* from = d_scores + t * h.padded;
    float* to = h.d_mask + t * h.num_keys;
    for (int64_t j = 0; j < h.num_keys; ++j) to[j] += from[j] / h.scale;
  }
}

template <int R>
HWY_INLINE void QueryGradients(const Head& h, int64_t t, const float* d_scores,
                               float* d_query, int64_t d_query_stride) {
  const float* rows = d_scores + t * h.padded;
  float* out[R];
  for (int r = 0; r < R; ++r) out[r] = d_query + (t + r) * d_query_stride;
  WeightedSum<R, false>(
      [&](int r, int64_t j) { return rows[r * h.padded + j]; },
      h.Visible(t + R - 1), h.head_dim, [&](int64_t j) { return h.Key(j); },
      out);
}

// What a head's backward pass reads and adds to, moved to its columns.
struct HeadGradients {
  const float* weights;
  const float* d_dst;
  int64_t d_dst_stride;
  float* d_query;
  int64_t d_query_stride;
  float* d_keys;
  float* d_values;
};

void BackwardHead(const Head& h, const HeadGradients& g,
                  const RelativeScratch& relative, float* scratch) {
  BackwardScratch s;
  s.relative = relative;
  s.packed_values = scratch;
  s.d_scores = s.packed_values + h.padded * h.head_dim;
  s.dropped = s.d_scores + h.num_queries * h.padded;
  Pack(
      h.num_keys, h.head_dim, [&](int64_t j) { return h.Value(j); },
      s.packed_values);
  ForEachTile(h.num_queries, [&](auto size, int64_t t) HWY_ATTR {
    ScoreGradients<size()>(h, t, g.weights, g.d_dst, g.d_dst_stride, s);
  });
  if (h.d_mask != nullptr) MaskGradients(h, s.d_scores);
  ForEachTile(h.num_queries, [&](auto size, int64_t t) HWY_ATTR {
    QueryGradients<size()>(h, t, s.d_scores, g.d_query, g.d_query_stride);
  });
  const float* mixed = h.dropout.active() ? s.dropped : g.weights;
  if (h.relative.keys != nullptr) {
    for (int64_t t = 0; t < h.num_queries; ++t) {
      RelativeGradients(h, t, s.d_scores + t * h.padded, mixed + t * h.padded,
                        g.d_dst + t * g.d_dst_stride, relative.sums,
                        g.d_query + t * g.d_query_stride);
    }
  }
  ForEachTile(h.num_keys, [&](auto size, int64_t j) HWY_ATTR {
    KeyGradients<size()>(h, j, s.d_scores, h.query, h.query_stride, g.d_keys,
                         h.key_stride);
    KeyGradients<size()>(h, j, mixed, g.d_dst, g.d_dst_stride, g.d_values,
                         h.value_stride);
  });
}

void AttentionBackwardImpl(Matrix query, Matrix d_dst,
                           std::span<const AttentionGroup> groups,
                           const AttentionOptions& all_options, float* scratch,
                           Matrix d_query) {
  const int64_t head_dim = query.cols / all_options.num_heads;
  const AttentionOptions options = WithReach(all_options, groups, head_dim);
  const auto relative = RelativeScratch::Make(
      scratch, options.relative.values, options.relative.rows(), head_dim);
  scratch += RelativeScratchSize(options, head_dim);
  for (const AttentionGroup& g : groups) {
    for (int64_t head = 0; head < options.num_heads; ++head) {
      const Head h = HeadOf(query, g, options, head);
      const int64_t column = head * h.head_dim;
      BackwardHead(h,
                   {.weights = g.weights + head * h.num_queries * h.padded,
                    .d_dst = d_dst.Row(g.first_query) + column,
                    .d_dst_stride = d_dst.stride,
                    .d_query = d_query.Row(g.first_query) + column,
                    .d_query_stride = d_query.stride,
                    .d_keys = g.d_keys + column,
                    .d_values = g.d_values + column},
                   relative, scratch);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(AttentionBackwardImpl);

void AttentionBackward(Matrix query, Matrix d_dst,
                       std::span<const AttentionGroup> groups,
                       const AttentionOptions& options, float* scratch,
                       Matrix d_query) {
  HWY_DYNAMIC_DISPATCH(AttentionBackwardImpl)
  (query, d_dst, groups, options, scratch, d_query);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
