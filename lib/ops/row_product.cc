#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/row_product.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>

#include "hwy/highway.h"
#include "lib/ops/row_product.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr int64_t kRows = 6;  // with AVX2, 6 x 2 sums fill the registers

// dst[r][0, 16) = bias + the sum over i of src[r][i] * panel[i], R rows. Each
// element is one chain of multiply-adds, whatever R is.
template <int R>
HWY_INLINE void Tile(Matrix src, const float* panel, const float* bias,
                     Matrix dst) {
  const Lanes d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
  constexpr int kVectors = kOutputPanel / kLanes;
  hn::Vec<Lanes> sum[R][kVectors];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::LoadU(d, bias + v * kLanes);
    }
  }
  for (int64_t i = 0; i < src.cols; ++i) {
    hn::Vec<Lanes> weight[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = hn::LoadU(d, panel + i * kOutputPanel + v * kLanes);
    }
    for (int r = 0; r < R; ++r) {
      const auto x = hn::Set(d, src.Row(r)[i]);
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(x, weight[v], sum[r][v]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    HWY_ALIGN float result[kOutputPanel];
    float* to = dst.cols == kOutputPanel ? dst.Row(r) : result;
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], d, to + v * kLanes);
    }
    if (to == result) std::copy_n(result, dst.cols, dst.Row(r));
  }
}

void RowProductImpl(Matrix src, const float* packed, const float* bias,
                    Matrix dst) {
  for (int64_t begin = 0; begin < dst.cols; begin += kOutputPanel) {
    const int64_t count = std::min(kOutputPanel, dst.cols - begin);
    const float* panel = packed + begin * src.cols;
    float start[kOutputPanel] = {};
    if (bias != nullptr) std::copy_n(bias + begin, count, start);
    const Matrix to = dst.Columns(begin, count);
    int64_t r = 0;
    for (; r + kRows <= src.rows; r += kRows) {
      Tile<kRows>(src.Rows(r, kRows), panel, start, to.Rows(r, kRows));
    }
    for (; r < src.rows; ++r) {
      Tile<1>(src.Rows(r, 1), panel, start, to.Rows(r, 1));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(RowProductImpl);

size_t RowPackedSize(int64_t out, int64_t in) {
  return static_cast<size_t>((out + kOutputPanel - 1) / kOutputPanel *
                             kOutputPanel * in);
}

void RowPack(Matrix weights, float* packed) {
  const int64_t in = weights.cols;
  std::fill_n(packed, RowPackedSize(weights.rows, in), 0.0f);
  for (int64_t o = 0; o < weights.rows; ++o) {
    float* to =
        packed + o / kOutputPanel * kOutputPanel * in + o % kOutputPanel;
    for (int64_t i = 0; i < in; ++i) to[i * kOutputPanel] = weights.Row(o)[i];
  }
}

void RowProduct(Matrix src, const float* packed, const float* bias,
                Matrix dst) {
  HWY_DYNAMIC_DISPATCH(RowProductImpl)(src, packed, bias, dst);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
