#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/attention_forward.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "lib/ops/attention-inl.h"
#include "lib/ops/attention.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// Adds to the scores of query t what the mask and the distances say.
HWY_INLINE void AddBias(const Head& h, int64_t t, const RelativeScratch& s,
                        float* row) {
  const int64_t visible = h.Visible(t);
  const int64_t place = h.Place(t);
  if (h.relative.keys != nullptr) {
    AddRelativeProducts(h, t, h.Query(t), s.packed, h.scale, visible, s.sums,
                        row);
  }
  if (h.slope != 0) {
    for (int64_t j = 0; j < visible; ++j) {
      row[j] -= h.slope * static_cast<float>(std::abs(place - j));
    }
  }
  if (h.window > 0) {
    std::fill(row, row + std::clamp<int64_t>(place - h.window, 0, visible),
              kHidden);
    std::fill(row + std::clamp<int64_t>(place + h.window + 1, 0, visible),
              row + visible, kHidden);
  }
  if (h.mask != nullptr) {
    const float* mask = h.mask + t * h.num_keys;
    for (int64_t j = 0; j < visible; ++j) row[j] += mask[j];
  }
}

// The softmax of a row that has none: where every key is hidden all of it is 0,
// else, with a score that is not finite, no number.
HWY_INLINE void ImproperSoftmax(float* row, int64_t visible, int64_t padded,
                                bool all_hidden) {
  std::fill_n(row, padded, 0.0f);
  if (all_hidden) return;
  std::fill_n(row, visible, std::numeric_limits<float>::quiet_NaN());
}

// Softmax over the first visible[r] of `padded` scores, for R rows side by
// side, since each is a chain of waits; the rest become 0, and so do all where
// every score is minus infinity. A score that is not a number makes all of its
// row such: it must not pass for a key that is not seen. What lies beyond
// visible[r] is masked in registers: scalars stored between vectors would have
// to leave the store buffer before they can be loaded.
template <int R>
HWY_INLINE void Softmax(float* const* rows, const int64_t* visible,
                        int64_t padded) {
  const Lanes d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
  constexpr int kVectors = static_cast<int>(kKeyBlock) / kLanes;
  const auto seen = [&](int r, int64_t j) HWY_ATTR {
    return hn::FirstN(
        d, static_cast<size_t>(std::clamp<int64_t>(visible[r] - j, 0, kLanes)));
  };
  hn::Vec<Lanes> max[R], no_number[R];  // all bits of a lane with a NaN
  for (int r = 0; r < R; ++r) {
    max[r] = hn::Set(d, kHidden);
    no_number[r] = hn::Zero(d);
  }
  for (int64_t j = 0; j < padded; j += kLanes) {
    for (int r = 0; r < R; ++r) {
      const auto x = hn::IfThenElse(seen(r, j), hn::LoadU(d, rows[r] + j),
                                    hn::Set(d, kHidden));
      no_number[r] = hn::Or(no_number[r], hn::VecFromMask(d, hn::IsNaN(x)));
      max[r] = hn::Max(max[r], x);
    }
  }
  for (int r = 0; r < R; ++r) max[r] = hn::MaxOfLanes(d, max[r]);
  // Sums run lane by lane over whole blocks, then over the lanes: blocks beyond
  // visible[r] add zeros, so they do not change a bit.
  hn::Vec<Lanes> sum[R][kVectors];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (int64_t j = 0; j < padded; j += kKeyBlock) {
    for (int v = 0; v < kVectors; ++v) {
      for (int r = 0; r < R; ++r) {
        float* x = rows[r] + j + v * kLanes;
        const auto e = hn::IfThenElseZero(
            seen(r, j + v * kLanes),
            ExpOfNegative(d, hn::Sub(hn::LoadU(d, x), max[r])));
        hn::StoreU(e, d, x);
        sum[r][v] = hn::Add(sum[r][v], e);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 1; v < kVectors; ++v) {
      sum[r][0] = hn::Add(sum[r][0], sum[r][v]);
    }
    sum[r][0] = hn::Div(hn::Set(d, 1), hn::SumOfLanes(d, sum[r][0]));
  }
  for (int64_t j = 0; j < padded; j += kLanes) {
    for (int r = 0; r < R; ++r) {
      hn::StoreU(hn::Mul(hn::LoadU(d, rows[r] + j), sum[r][0]), d, rows[r] + j);
    }
  }
  for (int r = 0; r < R; ++r) {
    const float most = hn::GetLane(max[r]);
    const bool is_number = hn::AllTrue(d, hn::Eq(no_number[r], hn::Zero(d)));
    if (is_number && std::abs(most) != -kHidden) continue;
    ImproperSoftmax(rows[r], visible[r], padded, is_number && most == kHidden);
  }
}

// Forward for R queries from t on. `weights` [R][padded] is written.
template <int R>
HWY_INLINE void ForwardTile(const Head& h, int64_t t, const float* packed,
                            const RelativeScratch& relative, float* weights,
                            float* dropped, float* dst, int64_t dst_stride) {
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
  int64_t seen[R];
  for (int r = 0; r < R; ++r) {
    seen[r] = h.Visible(t + r);
    AddBias(h, t + r, relative, scores[r]);
  }
  Softmax<R>(scores, seen, blocks_end);
  for (int r = 0; r < R; ++r) {
    std::fill(scores[r] + blocks_end, scores[r] + h.padded, 0.0f);
    if (h.dropout.active()) {
      DropRow(h, t + r, scores[r], dropped + r * h.padded);
    }
  }
  WeightedSum<R, false>([&](int r, int64_t j) { return mixed[r][j]; }, visible,
                        h.head_dim, [&](int64_t j) { return h.Value(j); }, out);
  if (h.relative.keys == nullptr) return;
  for (int r = 0; r < R; ++r) {
    SumByDistance(h, t + r, mixed[r], h.Visible(t + r), relative.sums);
    WeightedSum<1, true>(
        [&](int, int64_t b) { return relative.sums[b]; }, h.relative.rows(),
        h.head_dim,
        [&](int64_t b) { return h.relative.values + b * h.head_dim; }, &out[r]);
  }
}

void ForwardHead(const Head& h, const float* packed,
                 const RelativeScratch& relative, float* weights,
                 float* scratch, float* dst, int64_t dst_stride) {
  float* dropped = scratch;
  float* own = scratch + kLargeTile * h.padded;
  ForEachTile(h.num_queries, [&](auto size, int64_t t) HWY_ATTR {
    float* w = weights == nullptr ? own : weights + t * h.padded;
    ForwardTile<size()>(h, t, packed, relative, w, dropped, dst, dst_stride);
  });
}

void AttentionForwardImpl(Matrix query, std::span<const AttentionGroup> groups,
                          const AttentionOptions& all_options, float* scratch,
                          Matrix dst) {
  const int64_t head_dim = query.cols / all_options.num_heads;
  const AttentionOptions options = WithReach(all_options, groups, head_dim);
  const auto relative = RelativeScratch::Make(
      scratch, options.relative.keys, options.relative.rows(), head_dim);
  scratch += RelativeScratchSize(options, head_dim);
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
      ForwardHead(h, packed, relative, weights, rest,
                  dst.Row(g.first_query) + head * h.head_dim, dst.stride);
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
HWY_EXPORT(PackKeysImpl);

int64_t AttentionScratchSize(std::span<const AttentionGroup> groups,
                             const AttentionOptions& options,
                             int64_t head_dim) {
  int64_t size = 0;
  for (const AttentionGroup& g : groups) {
    const int64_t padded = PaddedKeys(g.num_keys);
    // Packed keys or values, then two sets of weights (see BackwardScratch).
    const int64_t rows = std::max<int64_t>(8, g.num_queries);  // a tile's
    size = std::max(size, padded * (head_dim + 2 * rows));
  }
  return size +
         RelativeScratchSize(WithReach(options, groups, head_dim), head_dim);
}

AttentionOptions WithReach(const AttentionOptions& options,
                           std::span<const AttentionGroup> groups,
                           int64_t head_dim) {
  int64_t reach = 0;
  for (const AttentionGroup& g : groups) {
    reach = std::max({reach, g.num_keys, g.num_queries});
  }
  AttentionOptions near = options;
  RelativeVectors& r = near.relative;
  const int64_t left_out = r.clip - std::min(r.clip, reach);
  r.clip -= left_out;
  for (const float** rows : {&r.keys, &r.values}) {
    if (*rows != nullptr) *rows += left_out * head_dim;
  }
  for (float** rows : {&r.d_keys, &r.d_values}) {
    if (*rows != nullptr) *rows += left_out * head_dim;
  }
  return near;
}

int64_t RelativeScratchSize(const AttentionOptions& options, int64_t head_dim) {
  if (options.relative.keys == nullptr) return 0;
  return PaddedKeys(options.relative.rows()) * (head_dim + 1);
}

void LinearBiasSlopes(std::span<float> slopes) {
  for (size_t h = 0; h < slopes.size(); ++h) {
    slopes[h] =
        static_cast<float>(std::exp2(-8.0 * static_cast<double>(h + 1) /
                                     static_cast<double>(slopes.size())));
  }
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

}  // namespace pipeformer
#endif  // HWY_ONCE
