#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/adam.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <cmath>

#include "hwy/highway.h"
#include "lib/ops/adam.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

void AdamUpdateImpl(AdamState s, int64_t begin, int64_t end,
                    const AdamOptions& o) {
  const double correction1 =
      1 - std::pow(static_cast<double>(o.beta1), static_cast<double>(o.step));
  const double correction2 =
      1 - std::pow(static_cast<double>(o.beta2), static_cast<double>(o.step));
  const float rate = static_cast<float>(o.learning_rate / correction1);
  const float inverse2 = static_cast<float>(1 / correction2);
  ForEachVector(end - begin, [&](auto d, int64_t i) HWY_ATTR {
    i += begin;
    const auto g =
        hn::Mul(hn::LoadU(d, s.gradients + i), hn::Set(d, o.gradient_scale));
    auto m = hn::LoadU(d, s.first_moment + i);
    auto v = hn::LoadU(d, s.second_moment + i);
    m = hn::MulAdd(hn::Set(d, 1 - o.beta1), hn::Sub(g, m), m);
    v = hn::MulAdd(hn::Set(d, 1 - o.beta2), hn::Sub(hn::Mul(g, g), v), v);
    hn::StoreU(m, d, s.first_moment + i);
    hn::StoreU(v, d, s.second_moment + i);
    const auto deviation = hn::Add(hn::Sqrt(hn::Mul(v, hn::Set(d, inverse2))),
                                   hn::Set(d, o.epsilon));
    const auto move = hn::Div(hn::Mul(m, hn::Set(d, rate)), deviation);
    hn::StoreU(hn::Sub(hn::LoadU(d, s.values + i), move), d, s.values + i);
  });
}

void AverageUpdateImpl(const float* values, float decay, int64_t begin,
                       int64_t end, float* average) {
  ForEachVector(end - begin, [&](auto d, int64_t i) HWY_ATTR {
    i += begin;
    const auto a = hn::LoadU(d, average + i);
    const auto distance = hn::Sub(hn::LoadU(d, values + i), a);
    hn::StoreU(hn::MulAdd(hn::Set(d, 1 - decay), distance, a), d, average + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(AdamUpdateImpl);
HWY_EXPORT(AverageUpdateImpl);

void AdamUpdate(AdamState state, int64_t begin, int64_t end,
                const AdamOptions& options) {
  HWY_DYNAMIC_DISPATCH(AdamUpdateImpl)(state, begin, end, options);
}

void AverageUpdate(const float* values, float decay, int64_t begin, int64_t end,
                   float* average) {
  HWY_DYNAMIC_DISPATCH(AverageUpdateImpl)(values, decay, begin, end, average);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
