#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/layer_norm.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <cmath>

#include "hwy/highway.h"
#include "lib/ops/layer_norm.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

void LayerNormForwardImpl(Matrix src, const float* gain, const float* bias,
                          Matrix statistics, Matrix dst) {
  const int64_t width = src.cols;
  const float inverse_width = 1.0f / static_cast<float>(width);
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    float* y = dst.Row(r);
    const float mean =
        inverse_width * SumOf(width, [&](auto d, int64_t i) HWY_ATTR {
          return hn::LoadU(d, x + i);
        });
    const float variance =
        inverse_width * SumOf(width, [&](auto d, int64_t i) HWY_ATTR {
          const auto c = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
          return hn::Mul(c, c);
        });
    const float inverse_deviation = 1.0f / std::sqrt(variance + 1e-5f);
    ForEachVector(width, [&](auto d, int64_t i) HWY_ATTR {
      const auto n = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)),
                             hn::Set(d, inverse_deviation));
      hn::StoreU(hn::MulAdd(n, hn::LoadU(d, gain + i), hn::LoadU(d, bias + i)),
                 d, y + i);
    });
    if (statistics.data != nullptr) {
      statistics.Row(r)[0] = mean;
      statistics.Row(r)[1] = inverse_deviation;
    }
  }
}

// With n the normalised row, g = gain and e = g d_dst:
//   d_src = (e - mean(e) - n mean(e n)) / deviation.
void LayerNormBackwardImpl(Matrix src, const float* gain, Matrix statistics,
                           Matrix d_dst, LayerNormGradients gradients) {
  const int64_t width = src.cols;
  const float inverse_width = 1.0f / static_cast<float>(width);
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    const float* dy = d_dst.Row(r);
    float* dx = gradients.d_src.Row(r);
    const float mean = statistics.Row(r)[0];
    const float scale = statistics.Row(r)[1];
    const auto normal = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)),
                     hn::Set(d, scale));
    };
    const auto scaled = [&](auto d, int64_t i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, dy + i), hn::LoadU(d, gain + i));
    };
    const float mean_e = inverse_width * SumOf(width, scaled);
    const float mean_en =
        inverse_width * SumOf(width, [&](auto d, int64_t i) HWY_ATTR {
          return hn::Mul(scaled(d, i), normal(d, i));
        });
    ForEachVector(width, [&](auto d, int64_t i) HWY_ATTR {
      const auto n = normal(d, i);
      const auto v = hn::LoadU(d, dy + i);
      float* dg = gradients.d_gain + i;
      float* db = gradients.d_bias + i;
      hn::StoreU(hn::MulAdd(v, n, hn::LoadU(d, dg)), d, dg);
      hn::StoreU(hn::Add(v, hn::LoadU(d, db)), d, db);
      const auto e = hn::Sub(scaled(d, i), hn::Set(d, mean_e));
      const auto c = hn::NegMulAdd(n, hn::Set(d, mean_en), e);
      auto result = hn::Mul(hn::Set(d, scale), c);
      if (gradients.write_src == Write::kAdd) {
        result = hn::Add(hn::LoadU(d, dx + i), result);
      }
      hn::StoreU(result, d, dx + i);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(LayerNormForwardImpl);
HWY_EXPORT(LayerNormBackwardImpl);

void LayerNormForward(Matrix src, const float* gain, const float* bias,
                      Matrix statistics, Matrix dst) {
  HWY_DYNAMIC_DISPATCH(LayerNormForwardImpl)
  (src, gain, bias, statistics, dst);
}

void LayerNormBackward(Matrix src, const float* gain, Matrix statistics,
                       Matrix d_dst, LayerNormGradients gradients) {
  HWY_DYNAMIC_DISPATCH(LayerNormBackwardImpl)
  (src, gain, statistics, d_dst, gradients);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
