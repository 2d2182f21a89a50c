#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/attention_forward.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "lib/ops/attention-inl.h"
#include "lib/ops/attention.h"
#include "lib/ops/attention_softmax-inl.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

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
      Pack(
          h.num_keys, h.head_dim, [&](int64_t j) { return h.Key(j); }, scratch);
      float* rest = scratch + h.padded * h.head_dim;
      float* weights = g.weights == nullptr
                           ? nullptr
                           : g.weights + head * h.num_queries * h.padded;
      ForwardHead(h, scratch, relative, weights, rest,
                  dst.Row(g.first_query) + head * h.head_dim, dst.stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(AttentionForwardImpl);

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
  return WithReach(options, reach, head_dim);
}

AttentionOptions WithReach(const AttentionOptions& options, int64_t reach,
                           int64_t head_dim) {
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

void AttentionForward(Matrix query, std::span<const AttentionGroup> groups,
                      const AttentionOptions& options, float* scratch,
                      Matrix dst) {
  HWY_DYNAMIC_DISPATCH(AttentionForwardImpl)
  (query, groups, options, scratch, dst);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
