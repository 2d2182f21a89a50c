// What the forward and the backward pass of attention share; see attention.h.
// Included inside foreach_target files only, hence the per-target guard.
#if defined(PIPEFORMER_LIB_OPS_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PIPEFORMER_LIB_OPS_ATTENTION_INL_H_
#undef PIPEFORMER_LIB_OPS_ATTENTION_INL_H_
#else
#define PIPEFORMER_LIB_OPS_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "lib/ops/attention.h"
#include "lib/ops/panels-inl.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

// Vectors of sums that stay in registers: of 32 with AVX-512, else of 16.
constexpr int kMaxSums = HWY_TARGET == HWY_AVX3 ? 16 : 8;

// Rows (of queries or keys) whose sums run side by side.
constexpr int kLargeTile = kMaxSums / 2;
constexpr int kSmallTile = 4;

// Calls run(std::integral_constant<int, R>(), first) for tiles of R rows until
// all `count` are covered. The last tile may overlap the one before: whoever
// runs writes the same again.
template <class Run>
HWY_INLINE void ForEachTile(int64_t count, Run run) {
  const auto cover = [&](auto size) HWY_ATTR {
    int64_t t = 0;
    for (; t + size() <= count; t += size()) run(size, t);
    if (t < count) run(size, count - size());
  };
  if (count >= kLargeTile) {
    cover(std::integral_constant<int, kLargeTile>());
  } else if (count >= kSmallTile) {
    cover(std::integral_constant<int, kSmallTile>());
  } else {
    cover(std::integral_constant<int, 1>());
  }
}

// One head of one group, with pointers moved to the head's columns.
struct Head {
  int64_t head_dim, num_queries, num_keys, padded;
  const float* query;  // row t at query + t * query_stride
  int64_t query_stride;
  const float* keys;
  const float* values;
  int64_t key_stride, value_stride;
  float scale;
  bool causal;
  int64_t window;
  float slope;        // of the linear bias, 0: none
  const float* mask;  // of this head, or null
  float* d_mask;
  const float* d_weights;  // of this head, or null
  RelativeVectors relative;
  Dropout dropout;
  int64_t first_element;  // counts elements of weights for dropout
  int64_t element_stride;

  const float* Key(int64_t j) const { return keys + j * key_stride; }
  const float* Value(int64_t j) const { return values + j * value_stride; }
  const float* Query(int64_t t) const { return query + t * query_stride; }
  // The place of query t among the keys.
  int64_t Place(int64_t t) const { return num_keys - num_queries + t; }
  int64_t Visible(int64_t t) const {
    return causal ? std::clamp<int64_t>(Place(t) + 1, 0, num_keys) : num_keys;
  }
  // The relative vector between query t and key j.
  int64_t Bin(int64_t t, int64_t j) const {
    return std::clamp(j - Place(t), -relative.clip, relative.clip) +
           relative.clip;
  }
  uint32_t Element(int64_t t) const {
    return static_cast<uint32_t>(first_element + t * element_stride);
  }
};

HWY_INLINE Head HeadOf(Matrix query, const AttentionGroup& g,
                       const AttentionOptions& options, int64_t h) {
  const int64_t head_dim = query.cols / options.num_heads;
  const int64_t column = h * head_dim;
  return {.head_dim = head_dim,
          .num_queries = g.num_queries,
          .num_keys = g.num_keys,
          .padded = PaddedKeys(g.num_keys),
          .query = query.Row(g.first_query) + column,
          .query_stride = query.stride,
          .keys = g.keys + column,
          .values = g.values + column,
          .key_stride = options.key_stride,
          .value_stride = options.value_stride,
          .scale = options.scale,
          .causal = options.causal,
          .window = options.window,
          .slope = options.slopes == nullptr ? 0 : options.slopes[h],
          .mask = g.mask == nullptr ? nullptr : g.mask + h * g.mask_head_stride,
          .d_mask =
              g.d_mask == nullptr ? nullptr : g.d_mask + h * g.mask_head_stride,
          .d_weights =
              g.d_weights == nullptr
                  ? nullptr
                  : g.d_weights + h * g.num_queries * PaddedKeys(g.num_keys),
          .relative = options.relative,
          .dropout = options.dropout,
          .first_element = (g.first_query * options.num_heads + h) << 12,
          .element_stride = options.num_heads << 12};
}

// Writes rows of `head_dim` floats as blocks [head_dim, kKeyBlock], so that
// one vector holds the same dimension of neighbouring keys.
template <class RowOf>
HWY_INLINE void Pack(int64_t num_keys, int64_t head_dim, RowOf row_of,
                     float* packed) {
  static_assert(kKeyBlock == kPanel);
  PackPanels(num_keys, head_dim, row_of, packed, head_dim * kPanel);
}

// dst[r][j] = scale * (rows[r] . key j) for all padded keys j, R rows.
template <int R>
HWY_INLINE void Products(const float* const* rows, int64_t head_dim,
                         const float* packed, int64_t padded, float scale,
                         float* const* dst) {
  const Lanes d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
  // As many keys side by side as the registers hold.
  constexpr int kVectors =
      std::clamp(kMaxSums / R, 1, static_cast<int>(kKeyBlock) / kLanes);
  for (int64_t j = 0; j < padded; j += kVectors * kLanes) {
    const float* block =
        packed + j / kKeyBlock * head_dim * kKeyBlock + j % kKeyBlock;
    hn::Vec<Lanes> sum[R][kVectors];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    for (int64_t i = 0; i < head_dim; ++i) {
      hn::Vec<Lanes> key[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        key[v] = hn::Load(d, block + i * kKeyBlock + v * kLanes);
      }
      for (int r = 0; r < R; ++r) {
        const auto x = hn::Set(d, rows[r][i]);
        for (int v = 0; v < kVectors; ++v) {
          sum[r][v] = hn::MulAdd(x, key[v], sum[r][v]);
        }
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        hn::StoreU(hn::Mul(sum[r][v], hn::Set(d, scale)), d,
                   dst[r] + j + v * kLanes);
      }
    }
  }
}

// What the relative vectors need beside the scratch of a group: the keys (in
// backward the values) packed, and sums by distance of one query.
struct RelativeScratch {
  float* packed;  // [padded rows, head_dim] as Pack lays them out
  float* sums;    // [padded rows], by distance

  // At the beginning of `scratch`, with `vectors` packed unless they are null.
  static RelativeScratch Make(float* scratch, const float* vectors,
                              int64_t num_rows, int64_t head_dim) {
    if (vectors == nullptr) return {scratch, scratch};
    Pack(
        num_rows, head_dim, [=](int64_t r) { return vectors + r * head_dim; },
        scratch);
    return {scratch, scratch + PaddedKeys(num_rows) * head_dim};
  }
};

// dst[j] += scale * rows[r] . vector(distance of j) for the first `count` keys
// of query t; `packed` are the vectors.
HWY_INLINE void AddRelativeProducts(const Head& h, int64_t t, const float* row,
                                    const float* packed, float scale,
                                    int64_t count, float* sums, float* dst) {
  Products<1>(&row, h.head_dim, packed, PaddedKeys(h.relative.rows()), scale,
              &sums);
  for (int64_t j = 0; j < count; ++j) dst[j] += sums[h.Bin(t, j)];
}

// sums[distance] = the sum of weights[j] over the first `count` keys.
HWY_INLINE void SumByDistance(const Head& h, int64_t t, const float* weights,
                              int64_t count, float* sums) {
  std::fill_n(sums, h.relative.rows(), 0.0f);
  for (int64_t j = 0; j < count; ++j) sums[h.Bin(t, j)] += weights[j];
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

// dst[r] (+)= the sum over j < count of weight(r, j) * row_of(j), R rows, in
// V vectors of columns from i on.
template <int R, int V, bool kAdd, class D, class Weight, class RowOf>
HWY_INLINE void WeightedSumAt(D d, int64_t i, Weight weight, int64_t count,
                              RowOf row_of, float* const* dst) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<D> sum[V][R];
  for (int v = 0; v < V; ++v) {
    for (int r = 0; r < R; ++r) {
      sum[v][r] = kAdd ? hn::LoadU(d, dst[r] + i + v * n) : hn::Zero(d);
    }
  }
  for (int64_t j = 0; j < count; ++j) {
    const float* row = row_of(j) + i;
    hn::Vec<D> part[V];
    for (int v = 0; v < V; ++v) part[v] = hn::LoadU(d, row + v * n);
    for (int r = 0; r < R; ++r) {
      const auto w = hn::Set(d, weight(r, j));
      for (int v = 0; v < V; ++v) {
        sum[v][r] = hn::MulAdd(w, part[v], sum[v][r]);
      }
    }
  }
  for (int v = 0; v < V; ++v) {
    for (int r = 0; r < R; ++r) {
      hn::StoreU(sum[v][r], d, dst[r] + i + v * n);
    }
  }
}

// The same for all of head_dim columns.
template <int R, bool kAdd, class Weight, class RowOf>
HWY_INLINE void WeightedSum(Weight weight, int64_t count, int64_t head_dim,
                            RowOf row_of, float* const* dst) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * n <= head_dim; i += 2 * n) {
    WeightedSumAt<R, 2, kAdd>(d, i, weight, count, row_of, dst);
  }
  for (; i + n <= head_dim; i += n) {
    WeightedSumAt<R, 1, kAdd>(d, i, weight, count, row_of, dst);
  }
  for (; i < head_dim; ++i) {
    WeightedSumAt<R, 1, kAdd>(OneLane(), i, weight, count, row_of, dst);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
