// Shared by the kernels that Highway compiles once for each instruction set.
// Included inside foreach_target files only, hence the per-target guard.
//
// Sums within a row always run in the same order, so a row's result does not
// depend on its neighbours.
#if defined(PIPEFORMER_LIB_OPS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PIPEFORMER_LIB_OPS_SIMD_INL_H_
#undef PIPEFORMER_LIB_OPS_SIMD_INL_H_
#else
#define PIPEFORMER_LIB_OPS_SIMD_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 floats, so that one block of keys is a whole number of vectors.
using Lanes = hn::CappedTag<float, 16>;
using OneLane = hn::CappedTag<float, 1>;

// Calls body(tag, i) for i = 0, N, 2N, ... with full vectors, then with single
// lanes for what is left of `count`.
template <class Body>
HWY_INLINE void ForEachVector(int64_t count, Body body) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + n <= count; i += n) body(d, i);
  for (; i < count; ++i) body(OneLane(), i);
}

// The sum over i of term(tag, i), in one order for a given `count`.
template <class Term>
HWY_INLINE float SumOf(int64_t count, Term term) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  auto sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + n <= count; i += n) sum = hn::Add(sum, term(d, i));
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < count; ++i) total += hn::GetLane(term(OneLane(), i));
  return total;
}

// The largest of src[0, count). Requires: count > 0.
HWY_INLINE float MaxOf(const float* src, int64_t count) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  auto max = hn::Set(d, src[0]);
  int64_t i = 0;
  for (; i + n <= count; i += n) max = hn::Max(max, hn::LoadU(d, src + i));
  float result = hn::GetLane(hn::MaxOfLanes(d, max));
  for (; i < count; ++i) result = src[i] > result ? src[i] : result;
  return result;
}

// e^x for x <= 0, as a softmax needs it, within two units in the last place;
// 0 below -86, where the result would be under 5e-38, and for NaN. Half the
// work of a general one. With x = q ln 2 + r: e^r is 1 + r + r^2 g(r), g fitted
// to a relative error of 4e-9, and 2^q is added to its exponent.
template <class D>
HWY_INLINE hn::Vec<D> ExpOfNegative(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> di;
  const auto magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: rounds to whole
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const auto q = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(q, hn::Set(d, 0.693359375f), x);  // ln 2 in two parts
  r = hn::NegMulAdd(q, hn::Set(d, -2.12194440e-4f), r);
  auto g = hn::Set(d, 1.38116643e-3f);
  g = hn::MulAdd(g, r, hn::Set(d, 8.37013543e-3f));
  g = hn::MulAdd(g, r, hn::Set(d, 4.16685283e-2f));
  g = hn::MulAdd(g, r, hn::Set(d, 1.66665087e-1f));
  g = hn::MulAdd(g, r, hn::Set(d, 4.99999926e-1f));
  const auto e = hn::MulAdd(hn::Mul(r, r), g, hn::Add(r, hn::Set(d, 1.0f)));
  const auto scaled = hn::BitCast(
      d,
      hn::Add(hn::BitCast(di, e), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  return hn::IfThenElseZero(hn::Ge(x, hn::Set(d, -86.0f)), scaled);
}

// Random 32 bits for each of the elements index, index + 1, ...: a function of
// the 64-bit key and the element alone.
// Source of the mixing constants: C. Wellons, "Prospecting for Hash
// Functions", 2018 (lowbias32).
template <class D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> RandomBits(D, uint64_t key,
                                                          uint32_t index) {
  const hn::RebindToUnsigned<D> du;
  // Iota of a constant is a constant; of a variable it goes through memory.
  auto x = hn::Add(hn::Iota(du, 0), hn::Set(du, index));
  x = hn::Xor(x, hn::Set(du, static_cast<uint32_t>(key)));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(du, 0x7feb352du));
  x = hn::Xor(x, hn::Set(du, static_cast<uint32_t>(key >> 32)));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(du, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
