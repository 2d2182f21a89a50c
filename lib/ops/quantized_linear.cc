#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/quantized_linear.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "lib/base/error.h"
#include "lib/ops/panels-inl.h"
#include "lib/ops/quantized_linear.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr int64_t kPanelCols = QuantizedWeights::kPanel;
constexpr int64_t kBlockBytes = 1 << 17;  // of panels that rows pass by
constexpr float kSmallest = 1e-30f;       // below, a row counts as zero

using Sums = hn::CappedTag<int32_t, 16>;
constexpr int kSumLanes = static_cast<int>(hn::MaxLanes(Sums()));
constexpr int kVectors = static_cast<int>(kPanelCols) / kSumLanes;
// Sums of a tile, and products before they are added, fill the registers: 16
// with AVX2, 32 with AVX-512.
constexpr int kTileRows = kVectors == 1 ? 12 : 6;

// The largest magnitude of a row; infinity or NaN where a value is so. The bits
// of magnitudes are ordered as they are, with NaN above all.
HWY_INLINE float LargestMagnitude(const float* row, int64_t count) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const auto magnitude = hn::Set(di, 0x7fffffff);
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  auto max = hn::Zero(di);
  int64_t i = 0;
  for (; i + n <= count; i += n) {
    const auto bits = hn::BitCast(di, hn::LoadU(d, row + i));
    max = hn::Max(max, hn::And(bits, magnitude));
  }
  int32_t largest = hn::GetLane(hn::MaxOfLanes(di, max));
  for (; i < count; ++i) {
    int32_t bits;
    std::memcpy(&bits, row + i, sizeof(bits));
    largest = std::max(largest, bits & 0x7fffffff);
  }
  float result;
  std::memcpy(&result, &largest, sizeof(result));
  return result;
}

// values[i] = row[i] * inverse, rounded to the nearest whole number.
HWY_INLINE void RoundRow(const float* row, int64_t count, float inverse,
                         int16_t* values) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const hn::Rebind<int16_t, decltype(d)> d16;
    const auto scaled = hn::Mul(hn::LoadU(d, row + i), hn::Set(d, inverse));
    hn::StoreU(hn::DemoteTo(d16, hn::NearestInt(scaled)), d16, values + i);
  });
}

// `value` > 0 with at most 17 significant bits, rounded up.
HWY_INLINE float RoundedUp(float value) {
  int exponent;
  const float fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  return std::ldexp(std::ceil(std::ldexp(fraction, 17)), exponent - 17);
}

enum class RowOf { kSource, kWeights };

// Rounds a row to `values` [count]; returns its scale.
template <RowOf kRowOf>
HWY_INLINE float QuantizeRow(const float* row, int64_t count, int16_t* values) {
  const float largest = LargestMagnitude(row, count);
  const bool finite = largest <= std::numeric_limits<float>::max();
  if (!finite || largest < kSmallest) {
    std::fill_n(values, count, int16_t{0});
    return finite ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  if (kRowOf == RowOf::kSource) {
    RoundRow(row, count, 127 / largest, values);
    return largest / 127;
  }
  const float scale = RoundedUp(largest / 127);
  RoundRow(row, count, 1 / scale, values);
  return scale;
}

float QuantizeWeightsImpl(const float* row, int64_t count, int16_t* values) {
  return QuantizeRow<RowOf::kWeights>(row, count, values);
}

// The rows of a tile.
struct TileSource {
  const int16_t* values;  // [rows, stride]
  int64_t stride;
  const float* scales;  // [rows]
};

// One panel of the weights and what its columns are scaled by and added to.
struct Panel {
  const int8_t* values;
  int64_t pairs;
  const float* scales;  // [16]
  const float* bias;    // [16]
};

#if HWY_TARGET == HWY_SCALAR
// dst[r][0, 16) for R rows.
template <int R>
HWY_INLINE void QuantizedTile(const TileSource& src, const Panel& panel,
                              float* dst, int64_t dst_stride) {
  for (int r = 0; r < R; ++r) {
    const int16_t* row = src.values + r * src.stride;
    for (int64_t c = 0; c < kPanelCols; ++c) {
      int32_t sum = 0;
      for (int64_t i = 0; i < 2 * panel.pairs; ++i) {
        sum += row[i] * panel.values[(i / 2 * kPanelCols + c) * 2 + i % 2];
      }
      const float scale = src.scales[r] * panel.scales[c];
      dst[r * dst_stride + c] = static_cast<float>(sum) * scale + panel.bias[c];
    }
  }
}
#else
// dst[r][0, 16) for R rows.
template <int R>
HWY_INLINE void QuantizedTile(const TileSource& src, const Panel& panel,
                              float* dst, int64_t dst_stride) {
  const Sums di;
  const hn::Repartition<int16_t, Sums> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const hn::RebindToFloat<Sums> df;
  hn::Vec<Sums> sum[R][kVectors];
  auto unused = hn::Zero(di);
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(di);
  }
  const int8_t* values = panel.values;
  const int8_t* next = panel.values + 2 * kPanelCols * panel.pairs;
  for (int64_t i = 0; i < panel.pairs; ++i) {
    hn::Vec<decltype(d16)> weight[kVectors];
    hwy::Prefetch(next + 2 * kPanelCols * i);
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = hn::PromoteTo(d16, hn::LoadU(d8, values + v * 2 * kSumLanes));
    }
    for (int r = 0; r < R; ++r) {
      int32_t pair;
      std::memcpy(&pair, src.values + r * src.stride + 2 * i, sizeof(pair));
      const auto x = hn::BitCast(d16, hn::Set(di, pair));
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] =
            hn::ReorderWidenMulAccumulate(di, x, weight[v], sum[r][v], unused);
#if HWY_TARGET == HWY_AVX2
        // Keeps a sum in its register: GCC 12 would move all of them about.
        asm("" : "+x"(sum[r][v].raw));
#endif
      }
    }
    values += 2 * kPanelCols;
  }
  // Unrolled, so that no sum need have an address.
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
    const auto row_scale = hn::Set(df, src.scales[r]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * kSumLanes;
      const auto scale = hn::Mul(row_scale, hn::LoadU(df, panel.scales + at));
      const auto whole = hn::RearrangeToOddPlusEven(sum[r][v], unused);
      const auto y = hn::MulAdd(hn::ConvertTo(df, whole), scale,
                                hn::LoadU(df, panel.bias + at));
      hn::StoreU(y, df, dst + r * dst_stride + at);
    }
  }
}
#endif

template <int R>
HWY_INLINE void QuantizedTileOf(int64_t rows, const TileSource& src,
                                const Panel& panel, float* dst,
                                int64_t dst_stride) {
  if constexpr (R > 1) {
    if (rows < R) {
      return QuantizedTileOf<R - 1>(rows, src, panel, dst, dst_stride);
    }
  }
  QuantizedTile<R>(src, panel, dst, dst_stride);
}

// A tile of which only `cols` columns are wanted.
HWY_NOINLINE void NarrowQuantizedTile(int64_t rows, int64_t cols,
                                      const TileSource& src, const Panel& panel,
                                      float* dst, int64_t dst_stride) {
  HWY_ALIGN float tile[kTileRows * kPanelCols];
  QuantizedTileOf<kTileRows>(rows, src, panel, tile, kPanelCols);
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(tile + r * kPanelCols, cols, dst + r * dst_stride);
  }
}

void QuantizeRowsImpl(Matrix src, int64_t stride, int16_t* values,
                      float* scales) {
  for (int64_t r = 0; r < src.rows; ++r) {
    int16_t* row = values + r * stride;
    scales[r] = QuantizeRow<RowOf::kSource>(src.Row(r), src.cols, row);
    if (stride > src.cols) row[src.cols] = 0;
  }
}

void QuantizedLinearForwardImpl(const QuantizedRows& src,
                                const QuantizedWeights& weights, Matrix dst) {
  const int64_t pairs = src.stride() / 2;
  const int64_t panel_bytes = 2 * kPanelCols * pairs;
  const int64_t block =
      std::max<int64_t>(1, kBlockBytes / panel_bytes) * kPanelCols;
  for (int64_t first = 0; first < weights.out(); first += block) {
    const int64_t end = std::min(weights.out(), first + block);
    for (int64_t r = 0, rows = 0; r < src.rows(); r += rows) {
      rows = EvenPart(src.rows() - r, kTileRows);
      const TileSource tile = {src.values() + r * src.stride(), src.stride(),
                               src.scales() + r};
      for (int64_t j = first; j < end; j += kPanelCols) {
        const Panel panel = {weights.panels() + j / kPanelCols * panel_bytes,
                             pairs, weights.scales() + j, weights.bias() + j};
        float* to = dst.Row(r) + j;
        if (end - j >= kPanelCols) {
          QuantizedTileOf<kTileRows>(rows, tile, panel, to, dst.stride);
        } else {
          NarrowQuantizedTile(rows, end - j, tile, panel, to, dst.stride);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(QuantizeWeightsImpl);
HWY_EXPORT(QuantizeRowsImpl);
HWY_EXPORT(QuantizedLinearForwardImpl);

float QuantizeWeights(const float* row, int64_t count, int16_t* values) {
  return HWY_DYNAMIC_DISPATCH(QuantizeWeightsImpl)(row, count, values);
}

QuantizedWeights::QuantizedWeights(Matrix weights, const float* bias)
    : out_(weights.rows), in_(weights.cols) {
  Check(in_ <= kMostQuantizedInputs, "too many inputs for eight bits");
  const int64_t panels = (out_ + kPanel - 1) / kPanel;
  const int64_t pairs = (in_ + 1) / 2;
  panels_.assign(static_cast<size_t>(panels * pairs * kPanel * 2), 0);
  scales_.assign(static_cast<size_t>(panels * kPanel), 0);
  bias_.assign(scales_.size(), 0);
  if (bias != nullptr) std::copy_n(bias, out_, bias_.begin());
  std::vector<int16_t> values(static_cast<size_t>(in_));
  for (int64_t o = 0; o < out_; ++o) {
    scales_[static_cast<size_t>(o)] =
        QuantizeWeights(weights.Row(o), in_, values.data());
    const int64_t panel = o / kPanel * pairs * kPanel;
    int8_t* to = panels_.data() + (panel + o % kPanel) * 2;
    for (int64_t i = 0; i < in_; ++i) {
      to[i / 2 * kPanel * 2 + i % 2] =
          static_cast<int8_t>(values[static_cast<size_t>(i)]);
    }
  }
}

void QuantizedRows::Set(Matrix src) {
  rows_ = src.rows;
  in_ = src.cols;
  stride_ = (in_ + 1) / 2 * 2;
  values_.resize(static_cast<size_t>(rows_ * stride_));
  scales_.resize(static_cast<size_t>(rows_));
  HWY_DYNAMIC_DISPATCH(QuantizeRowsImpl)
  (src, stride_, values_.data(), scales_.data());
}

void QuantizedLinearForward(const QuantizedRows& src,
                            const QuantizedWeights& weights, Matrix dst) {
  HWY_DYNAMIC_DISPATCH(QuantizedLinearForwardImpl)(src, weights, dst);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
