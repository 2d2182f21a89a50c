// Rows laid side by side: panels of 16 rows, in which one vector holds the same
// element of neighbouring rows. Products read their right factor so, attention
// its keys.
// Included inside foreach_target files only, hence the per-target guard.
#if defined(PIPEFORMER_LIB_OPS_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PIPEFORMER_LIB_OPS_PANELS_INL_H_
#undef PIPEFORMER_LIB_OPS_PANELS_INL_H_
#else
#define PIPEFORMER_LIB_OPS_PANELS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr int64_t kPanel = 16;

// The size of the next part of what is left, so that few parts, none above
// `most`, have nearly one size.
HWY_INLINE int64_t EvenPart(int64_t left, int64_t most) {
  const int64_t parts = (left + most - 1) / most;
  return (left + parts - 1) / parts;
}

// to[i][j] = rows[j][i] for j < 4 and i < width, in a panel.
HWY_INLINE void PackFour(const float* const rows[4], int64_t width, float* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 4> d;
  for (; i + 4 <= width; i += 4) {
    const auto r0 = hn::LoadU(d, rows[0] + i);
    const auto r1 = hn::LoadU(d, rows[1] + i);
    const auto r2 = hn::LoadU(d, rows[2] + i);
    const auto r3 = hn::LoadU(d, rows[3] + i);
    const auto low02 = hn::InterleaveLower(d, r0, r2);
    const auto low13 = hn::InterleaveLower(d, r1, r3);
    const auto high02 = hn::InterleaveUpper(d, r0, r2);
    const auto high13 = hn::InterleaveUpper(d, r1, r3);
    float* at = to + i * kPanel;
    hn::StoreU(hn::InterleaveLower(d, low02, low13), d, at);
    hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, at + kPanel);
    hn::StoreU(hn::InterleaveLower(d, high02, high13), d, at + 2 * kPanel);
    hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, at + 3 * kPanel);
  }
#endif
  for (; i < width; ++i) {
    for (int64_t j = 0; j < 4; ++j) to[i * kPanel + j] = rows[j][i];
  }
}

// Packs the rows row_of(0), ..., row_of(count - 1) of `width` floats into
// panels [width, 16] that begin `panel_size` floats apart, the last one filled
// up with zeros.
template <class RowOf>
HWY_INLINE void PackPanels(int64_t count, int64_t width, RowOf row_of,
                           float* panels, int64_t panel_size) {
  for (int64_t first = 0; first < count; first += kPanel) {
    const int64_t rows = std::min(kPanel, count - first);
    if (rows < kPanel) std::fill_n(panels, width * kPanel, 0.0f);
    int64_t j = 0;
    for (; j + 4 <= rows; j += 4) {
      const float* four[4];
      for (int64_t k = 0; k < 4; ++k) four[k] = row_of(first + j + k);
      PackFour(four, width, panels + j);
    }
    for (; j < rows; ++j) {
      const float* row = row_of(first + j);
      for (int64_t i = 0; i < width; ++i) panels[i * kPanel + j] = row[i];
    }
    panels += panel_size;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
