#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/attention.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "lib/ops/attention.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr int64_t kTile = 4;  // queries or keys whose sums run side by side

// One head of one group, with pointers moved to the head's columns.
struct Head {
  int64_t head_dim, num_queries, num_keys, padded;
  const float* query;  // row t at query + t * query_stride
  int64_t query_stride;
  const float* keys;
  const float* values;
  const int32_t* key_rows;
  int64_t key_stride, value_stride;
  float scale;
  bool causal;
  Dropout dropout;
  int64_t first_element;  // counts elements of weights for dropout
  int64_t element_stride;

  int64_t Row(int64_t j) const { return key_rows == nullptr ? j : key_rows[j]; }
  const float* Key(int64_t j) const { return keys + Row(j) * key_stride; }
  const float* Value(int64_t j) const { return values + Row(j) * value_stride; }
  const float* Query(int64_t t) const { return query + t * query_stride; }
  int64_t Visible(int64_t t) const {
    return causal ? std::clamp<int64_t>(num_keys - num_queries + t + 1, 0,
                                        num_keys)
                  : num_keys;
  }
  uint32_t Element(int64_t t) const {
    return static_cast<uint32_t>(first_element + t * element_stride);
  }
};

Head HeadOf(Matrix query, const AttentionGroup& g,
            const AttentionOptions& options, int64_t h) {
  const int64_t head_dim = query.cols / options.num_heads;
  const int64_t column = h * head_dim;
  return {.head_dim = head_dim,
          .num_queries = g.num_queries,
          .num_keys = g.num_keys,
          .padded = PaddedKeys(g.num_keys),
          .query = query.Row(g.first_query) + column,
          .query_stride = query.stride,
          .keys = g.keys == nullptr ? nullptr : g.keys + column,
          .values = g.values + column,
          .key_rows = g.key_rows,
          .key_stride = options.key_stride,
          .value_stride = options.value_stride,
          .scale = options.scale,
          .causal = options.causal,
          .dropout = options.dropout,
          .first_element = (g.first_query * options.num_heads + h) << 12,
          .element_stride = options.num_heads << 12};
}

// Writes rows of `head_dim` floats as blocks [head_dim, kKeyBlock], so that
// one vector holds the same dimension of neighbouring keys.
template <class RowOf>
void Pack(int64_t num_keys, int64_t head_dim, RowOf row_of, float* packed) {
  const int64_t block_size = head_dim * kKeyBlock;
  for (int64_t j = 0; j < num_keys; ++j) {
    const float* row = row_of(j);
    float* to = packed + j / kKeyBlock * block_size + j % kKeyBlock;
    for (int64_t i = 0; i < head_dim; ++i) to[i * kKeyBlock] = row[i];
  }
  for (int64_t j = num_keys; j < PaddedKeys(num_keys); ++j) {
    float* to = packed + j / kKeyBlock * block_size + j % kKeyBlock;
    for (int64_t i = 0; i < head_dim; ++i) to[i * kKeyBlock] = 0;
  }
}

// dst[r][j] = scale * (rows[r] . key j) for all padded keys j, R rows.
template <int R>
HWY_INLINE void Products(const float* const* rows, int64_t head_dim,
                         const float* packed, int64_t padded, float scale,
                         float* const* dst) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t j = 0; j < padded; j += n) {
    const float* block =
        packed + j / kKeyBlock * head_dim * kKeyBlock + j % kKeyBlock;
    hn::Vec<Lanes> sum[R];
    for (int r = 0; r < R; ++r) sum[r] = hn::Zero(d);
    for (int64_t i = 0; i < head_dim; ++i) {
      const auto key = hn::Load(d, block + i * kKeyBlock);
      for (int r = 0; r < R; ++r) {
        sum[r] = hn::MulAdd(hn::Set(d, rows[r][i]), key, sum[r]);
      }
    }
    for (int r = 0; r < R; ++r) {
      hn::StoreU(hn::Mul(sum[r], hn::Set(d, scale)), d, dst[r] + j);
    }
  }
}

// Softmax over the first `visible` of `padded` scores; the rest become 0.
HWY_INLINE void Softmax(float* row, int64_t visible, int64_t padded) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  if (visible == 0) {
    std::fill_n(row, padded, 0.0f);
    return;
  }
  std::fill(row + visible, row + padded,
            -std::numeric_limits<float>::infinity());
  const auto max = hn::Set(d, MaxOf(row, padded));
  // Sums run lane by lane over whole blocks, then in the order of the lanes:
  // blocks beyond `visible` add zeros, so they do not change a bit.
  HWY_ALIGN float lanes[kKeyBlock] = {};
  for (int64_t j = 0; j < padded; j += n) {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, row + j), max));
    hn::StoreU(e, d, row + j);
    float* lane = lanes + j % kKeyBlock;
    hn::Store(hn::Add(hn::Load(d, lane), e), d, lane);
  }
  std::fill(row + visible, row + padded, 0.0f);
  float sum = 0;
  for (float lane : lanes) sum += lane;
  const auto inverse = hn::Set(d, 1.0f / sum);
  for (int64_t j = 0; j < padded; j += n) {
    hn::StoreU(hn::Mul(hn::LoadU(d, row + j), inverse), d, row + j);
  }
}

// dst[j] = dropout(src[j]) for all padded keys of query t.
HWY_INLINE void DropRow(const Head& h, int64_t t, const float* src,
                        float* dst) {
  const auto threshold = h.dropout.threshold();
  ForEachVector(h.padded, [&](auto d, int64_t j) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto bits =
        RandomBits(d, h.dropout.key, h.Element(t) + static_cast<uint32_t>(j));
    const auto falls = hn::RebindMask(d, hn::Lt(bits, hn::Set(du, threshold)));
    const auto v =
        hn::Mul(hn::LoadU(d, src + j), hn::Set(d, h.dropout.scale()));
    hn::StoreU(hn::IfThenZeroElse(falls, v), d, dst + j);
  });
}

// dst[r] (+)= the sum over j < count of weights[r][j] * row_of(j), R rows.
template <int R, bool kAdd, class RowOf>
HWY_INLINE void WeightedSum(const float* const* weights, int64_t count,
                            int64_t head_dim, RowOf row_of, float* const* dst) {
  ForEachVector(head_dim, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> sum[R];
    for (int r = 0; r < R; ++r) {
      sum[r] = kAdd ? hn::LoadU(d, dst[r] + i) : hn::Zero(d);
    }
    for (int64_t j = 0; j < count; ++j) {
      const auto row = hn::LoadU(d, row_of(j) + i);
      for (int r = 0; r < R; ++r) {
        sum[r] = hn::MulAdd(hn::Set(d, weights[r][j]), row, sum[r]);
      }
    }
    for (int r = 0; r < R; ++r) hn::StoreU(sum[r], d, dst[r] + i);
  });
}

// Forward for R queries from t on. `weights` [R][padded] is written.
template <int R>
HWY_INLINE void ForwardTile(const Head& h, int64_t t, const float* packed,
                            float* weights, float* dropped, float* dst,
                            int64_t dst_stride) {
  const float* rows[R];
  float* scores[R];
  float* out[R];
  const float* mixed[R];
  for (int r = 0; r < R; ++r) {
    rows[r] = h.Query(t + r);
    scores[r] = weights + r * h.padded;
    out[r] = dst + (t + r) * dst_stride;
    mixed[r] = h.dropout.active() ? dropped + r * h.padded : scores[r];
  }
  // Blocks past the last visible key are not computed, only cleared.
  const int64_t visible = h.Visible(t + R - 1);
  const int64_t blocks_end = PaddedKeys(visible);
  Products<R>(rows, h.head_dim, packed, blocks_end, h.scale, scores);
  for (int r = 0; r < R; ++r) {
    Softmax(scores[r], h.Visible(t + r), blocks_end);
    std::fill(scores[r] + blocks_end, scores[r] + h.padded, 0.0f);
    if (h.dropout.active()) {
      DropRow(h, t + r, scores[r], dropped + r * h.padded);
    }
  }
  WeightedSum<R, false>(
      mixed, visible, h.head_dim, [&](int64_t j) { return h.Value(j); }, out);
}

void ForwardHead(const Head& h, const float* packed, float* weights,
                 float* scratch, float* dst, int64_t dst_stride) {
  float* dropped = scratch;
  float* own = scratch + kTile * h.padded;
  int64_t t = 0;
  for (; t + kTile <= h.num_queries; t += kTile) {
    float* w = weights == nullptr ? own : weights + t * h.padded;
    ForwardTile<kTile>(h, t, packed, w, dropped, dst, dst_stride);
  }
  for (; t < h.num_queries; ++t) {
    float* w = weights == nullptr ? own : weights + t * h.padded;
    ForwardTile<1>(h, t, packed, w, dropped, dst, dst_stride);
  }
}

void AttentionForwardImpl(Matrix query, std::span<const AttentionGroup> groups,
                          const AttentionOptions& options, float* scratch,
                          Matrix dst) {
  for (const AttentionGroup& g : groups) {
    for (int64_t head = 0; head < options.num_heads; ++head) {
      const Head h = HeadOf(query, g, options, head);
      const int64_t packed_size = h.padded * h.head_dim;
      float* rest = scratch + packed_size;
      const float* packed = scratch;
      if (g.packed_keys != nullptr) {
        packed = g.packed_keys + head * packed_size;
      } else {
        Pack(
            h.num_keys, h.head_dim, [&](int64_t j) { return h.Key(j); },
            scratch);
      }
      float* weights = g.weights == nullptr
                           ? nullptr
                           : g.weights + head * h.num_queries * h.padded;
      ForwardHead(h, packed, weights, rest,
                  dst.Row(g.first_query) + head * h.head_dim, dst.stride);
    }
  }
}

// Scratch of one head's backward pass.
struct BackwardScratch {
  float* packed_values;  // [padded * head_dim]
  float* d_scores;       // [num_queries, padded]
  float* dropped;        // [num_queries, padded]
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
    if (h.dropout.active()) {
      DropRow(h, t + r, dp, dp);
      DropRow(h, t + r, p, s.dropped + (t + r) * h.padded);
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

// d_row[j] += the sum over t of weights[t][j] * rows[t], for R keys from j on.
template <int R>
HWY_INLINE void KeyGradients(const Head& h, int64_t j, const float* weights,
                             const float* rows, int64_t row_stride,
                             float* d_keys, int64_t d_stride) {
  ForEachVector(h.head_dim, [&](auto d, int64_t i) HWY_ATTR {
    hn::Vec<decltype(d)> sum[R];
    for (int r = 0; r < R; ++r) {
      sum[r] = hn::LoadU(d, d_keys + (j + r) * d_stride + i);
    }
    for (int64_t t = 0; t < h.num_queries; ++t) {
      const auto row = hn::LoadU(d, rows + t * row_stride + i);
      const float* w = weights + t * h.padded + j;
      for (int r = 0; r < R; ++r) {
        sum[r] = hn::MulAdd(hn::Set(d, w[r]), row, sum[r]);
      }
    }
    for (int r = 0; r < R; ++r) {
      hn::StoreU(sum[r], d, d_keys + (j + r) * d_stride + i);
    }
  });
}

template <int R>
HWY_INLINE void QueryGradients(const Head& h, int64_t t, const float* d_scores,
                               float* d_query, int64_t d_query_stride) {
  const float* rows[R];
  float* out[R];
  for (int r = 0; r < R; ++r) {
    rows[r] = d_scores + (t + r) * h.padded;
    out[r] = d_query + (t + r) * d_query_stride;
  }
  WeightedSum<R, true>(
      rows, h.Visible(t + R - 1), h.head_dim,
      [&](int64_t j) { return h.Key(j); }, out);
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

void BackwardHead(const Head& h, const HeadGradients& g, float* scratch) {
  BackwardScratch s;
  s.packed_values = scratch;
  s.d_scores = s.packed_values + h.padded * h.head_dim;
  s.dropped = s.d_scores + h.num_queries * h.padded;
  Pack(
      h.num_keys, h.head_dim, [&](int64_t j) { return h.Value(j); },
      s.packed_values);
  int64_t t = 0;
  for (; t + kTile <= h.num_queries; t += kTile) {
    ScoreGradients<kTile>(h, t, g.weights, g.d_dst, g.d_dst_stride, s);
  }
  for (; t < h.num_queries; ++t) {
    ScoreGradients<1>(h, t, g.weights, g.d_dst, g.d_dst_stride, s);
  }
  for (t = 0; t + kTile <= h.num_queries; t += kTile) {
    QueryGradients<kTile>(h, t, s.d_scores, g.d_query, g.d_query_stride);
  }
  for (; t < h.num_queries; ++t) {
    QueryGradients<1>(h, t, s.d_scores, g.d_query, g.d_query_stride);
  }
  const float* mixed = h.dropout.active() ? s.dropped : g.weights;
  int64_t j = 0;
  for (; j + kTile <= h.num_keys; j += kTile) {
    KeyGradients<kTile>(h, j, s.d_scores, h.query, h.query_stride, g.d_keys,
                        h.key_stride);
    KeyGradients<kTile>(h, j, mixed, g.d_dst, g.d_dst_stride, g.d_values,
                        h.value_stride);
  }
  for (; j < h.num_keys; ++j) {
    KeyGradients<1>(h, j, s.d_scores, h.query, h.query_stride, g.d_keys,
                    h.key_stride);
    KeyGradients<1>(h, j, mixed, g.d_dst, g.d_dst_stride, g.d_values,
                    h.value_stride);
  }
}

void AttentionBackwardImpl(Matrix query, Matrix d_dst,
                           std::span<const AttentionGroup> groups,
                           const AttentionOptions& options, float* scratch,
                           Matrix d_query) {
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
                   scratch);
    }
  }
}

void PackKeysImpl(const AttentionGroup& group, const AttentionOptions& options,
                  int64_t head_dim, float* packed) {
  for (int64_t head = 0; head < options.num_heads; ++head) {
    const float* keys = group.keys + head * head_dim;
    Pack(
        group.num_keys, head_dim,
        [&](int64_t j) {
          const int64_t row = group.key_rows == nullptr ? j : group.key_rows[j];
          return keys + row * options.key_stride;
        },
        packed + head * PaddedKeys(group.num_keys) * head_dim);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(AttentionForwardImpl);
HWY_EXPORT(AttentionBackwardImpl);
HWY_EXPORT(PackKeysImpl);

int64_t AttentionScratchSize(std::span<const AttentionGroup> groups,
                             int64_t head_dim) {
  int64_t size = 0;
  for (const AttentionGroup& g : groups) {
    const int64_t padded = PaddedKeys(g.num_keys);
    // Packed keys or values, then two sets of weights (see BackwardScratch).
    const int64_t rows = std::max<int64_t>(4, g.num_queries);
    size = std::max(size, padded * (head_dim + 2 * rows));
  }
  return size;
}

int64_t AttentionWeightsSize(const AttentionGroup& group, int64_t num_heads) {
  return num_heads * group.num_queries * PaddedKeys(group.num_keys);
}

int64_t PackedKeysSize(int64_t num_keys, int64_t width) {
  return PaddedKeys(num_keys) * width;
}

void PackKeys(const AttentionGroup& group, const AttentionOptions& options,
              int64_t head_dim, float* packed) {
  HWY_DYNAMIC_DISPATCH(PackKeysImpl)(group, options, head_dim, packed);
}

void AttentionForward(Matrix query, std::span<const AttentionGroup> groups,
                      const AttentionOptions& options, float* scratch,
                      Matrix dst) {
  HWY_DYNAMIC_DISPATCH(AttentionForwardImpl)
  (query, groups, options, scratch, dst);
}

void AttentionBackward(Matrix query, Matrix d_dst,
                       std::span<const AttentionGroup> groups,
                       const AttentionOptions& options, float* scratch,
                       Matrix d_query) {
  HWY_DYNAMIC_DISPATCH(AttentionBackwardImpl)
  (query, d_dst, groups, options, scratch, d_query);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
