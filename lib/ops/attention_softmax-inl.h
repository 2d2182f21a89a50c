// What the scores of attention become: moved by the mask and by distances, then
// a softmax; the same for whole sequences and for single steps.
// Included inside foreach_target files only, hence the per-target guard.
#if defined(PIPEFORMER_LIB_OPS_ATTENTION_SOFTMAX_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef PIPEFORMER_LIB_OPS_ATTENTION_SOFTMAX_INL_H_
#undef PIPEFORMER_LIB_OPS_ATTENTION_SOFTMAX_INL_H_
#else
#define PIPEFORMER_LIB_OPS_ATTENTION_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "lib/ops/attention-inl.h"

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

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
