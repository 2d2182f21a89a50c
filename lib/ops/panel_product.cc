#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/panel_product.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <vector>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "lib/ops/panel_product.h"
#include "lib/ops/panels-inl.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

constexpr int64_t kTileRows = 6;     // with AVX2, 6 x 2 sums fill the registers
constexpr int64_t kInner = 256;      // of a block
constexpr int64_t kBlock = 1 << 16;  // floats of a block of B: 256 KB
constexpr int64_t kLeftRows = 96;    // of a transposed A, packed at once
// Between panels and tiles that are packed for one block: their lengths are
// powers of two, at which writing several at once would meet in one cache set.
constexpr int64_t kGap = 16;

// Where a tile begins: at C itself, at the bias or at 0. Its rows are `stride`
// apart.
struct Start {
  const float* row;
  int64_t stride;
};

// c[r][0, 16) = start[r] + the sum over i of a(r, i) * panel[i], for R rows.
// Of packed A, a(r, i) is a[i * kTileRows + r], else a[r * a_stride + i].
template <int R, bool kPackedA>
HWY_INLINE void Tile(const float* HWY_RESTRICT a, int64_t a_stride,
                     const float* HWY_RESTRICT panel, int64_t inner,
                     Start start, float* c, int64_t c_stride) {
  const Lanes d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
  constexpr int kVectors = static_cast<int>(kPanel) / kLanes;
  hn::Vec<Lanes> sum[R][kVectors];
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::LoadU(d, start.row + r * start.stride + v * kLanes);
    }
  }
  const float* next = panel + inner * kPanel;
  for (int64_t i = 0; i < inner; ++i) {
    hn::Vec<Lanes> weight[kVectors];
    hwy::Prefetch(next + i * kPanel);
    for (int v = 0; v < kVectors; ++v) {
      weight[v] = hn::LoadU(d, panel + v * kLanes);
    }
    for (int r = 0; r < R; ++r) {
      const auto x = hn::Set(d, kPackedA ? a[r] : a[r * a_stride]);
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(x, weight[v], sum[r][v]);
      }
    }
    panel += kPanel;
    a += kPackedA ? kTileRows : 1;
  }
  for (int r = 0; r < R; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(sum[r][v], d, c + r * c_stride + v * kLanes);
    }
  }
}

template <bool kPackedA>
HWY_INLINE void TileOf(int64_t rows, const float* a, int64_t a_stride,
                       const float* panel, int64_t inner, Start start, float* c,
                       int64_t c_stride) {
  const auto run = [&]<int R>() HWY_ATTR {
    Tile<R, kPackedA>(a, a_stride, panel, inner, start, c, c_stride);
  };
  switch (rows) {
    case 6:
      return run.template operator()<6>();
    case 5:
      return run.template operator()<5>();
    case 4:
      return run.template operator()<4>();
    case 3:
      return run.template operator()<3>();
    case 2:
      return run.template operator()<2>();
    default:
      return run.template operator()<1>();
  }
}

// A tile of fewer than 16 columns, by way of a whole one.
template <bool kPackedA>
HWY_NOINLINE void NarrowTile(int64_t rows, int64_t cols, const float* a,
                             int64_t a_stride, const float* panel,
                             int64_t inner, Start start, float* c,
                             int64_t c_stride) {
  HWY_ALIGN float tile[kTileRows * kPanel] = {};
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(start.row + r * start.stride, cols, tile + r * kPanel);
  }
  TileOf<kPackedA>(rows, a, a_stride, panel, inner, {tile, kPanel}, tile,
                   kPanel);
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(tile + r * kPanel, cols, c + r * c_stride);
  }
}

// Packs `cols` columns of B, stored as [cols, inner], into panels that begin
// `panel_size` floats apart.
void PackTransposed(const float* b, int64_t stride, int64_t inner, int64_t cols,
                    float* to, int64_t panel_size) {
  PackPanels(
      cols, inner, [=](int64_t j) HWY_ATTR { return b + j * stride; }, to,
      panel_size);
}

// The same of B stored as [inner, cols].
void PackPlain(const float* b, int64_t stride, int64_t inner, int64_t cols,
               float* to, int64_t panel_size) {
  for (int64_t i = 0; i < inner; ++i) {
    const float* row = b + i * stride;
    float* panel = to + i * kPanel;
    int64_t j = 0;
    for (; j + kPanel <= cols; j += kPanel) {
      hwy::CopyBytes<kPanel * sizeof(float)>(row + j, panel);
      panel += panel_size;
    }
    if (j == cols) continue;
    std::fill_n(panel, kPanel, 0.0f);
    std::copy_n(row + j, cols - j, panel);
  }
}

int64_t TileSize(int64_t inner) { return kTileRows * inner + kGap; }

// Packs `rows` rows of A, stored as [inner, rows], into tiles of six:
// [tiles, inner, kTileRows], with gaps.
void PackLeft(const float* a, int64_t stride, int64_t inner, int64_t rows,
              float* to) {
  for (int64_t i = 0; i < inner; ++i) {
    const float* row = a + i * stride;
    float* tile = to + i * kTileRows;
    int64_t r = 0;
    for (; r + kTileRows <= rows; r += kTileRows) {
      hwy::CopyBytes<kTileRows * sizeof(float)>(row + r, tile);
      tile += TileSize(inner);
    }
    for (; r < rows; ++r) *tile++ = row[r];
  }
}

// A block of the product: rows of A over `inner`, panels of B.
struct Block {
  const float* a;
  int64_t a_stride;
  const float* panels;
  int64_t panel_size;  // floats from panel to panel
  int64_t inner, cols;
  const float* bias;  // padded to whole panels; null: C goes on
  float* c;
  int64_t c_stride;
};

// One tile's rows by all panels. Of packed A, `a` is the tile.
template <bool kPackedA>
HWY_INLINE void RowsOfBlock(const Block& b, const float* a, int64_t first,
                            int64_t rows) {
  const float* panel = b.panels;
  float* row = b.c + first * b.c_stride;
  for (int64_t j = 0; j < b.cols; j += kPanel) {
    float* c = row + j;
    const Start start =
        b.bias == nullptr ? Start{c, b.c_stride} : Start{b.bias + j, 0};
    const int64_t cols = std::min(kPanel, b.cols - j);
    if (cols == kPanel) {
      TileOf<kPackedA>(rows, a, b.a_stride, panel, b.inner, start, c,
                       b.c_stride);
    } else {
      NarrowTile<kPackedA>(rows, cols, a, b.a_stride, panel, b.inner, start, c,
                           b.c_stride);
    }
    panel += b.panel_size;
  }
}

void RunBlock(const Block& b, int64_t rows) {
  for (int64_t r = 0; r < rows;) {
    const int64_t part = EvenPart(rows - r, kTileRows);
    RowsOfBlock<false>(b, b.a + r * b.a_stride, r, part);
    r += part;
  }
}

// A is stored as [inner, rows].
void RunBlockTransposed(const Block& b, int64_t rows, float* memory) {
  for (int64_t first = 0; first < rows; first += kLeftRows) {
    const int64_t count = std::min(kLeftRows, rows - first);
    PackLeft(b.a + first, b.a_stride, b.inner, count, memory);
    for (int64_t r = 0; r < count; r += kTileRows) {
      RowsOfBlock<true>(b, memory + r / kTileRows * TileSize(b.inner),
                        first + r, std::min(kTileRows, count - r));
    }
  }
}

// `count` floats from the begin of a cache line on. Grows and never shrinks.
float* Memory(std::vector<float>& memory, int64_t count) {
  constexpr size_t kLine = 16;
  if (memory.size() < static_cast<size_t>(count) + kLine) {
    memory.resize(static_cast<size_t>(count) + kLine);
  }
  const auto address =
      reinterpret_cast<uintptr_t>(memory.data()) / sizeof(float);
  return memory.data() + (kLine - address % kLine) % kLine;
}

// Panels of B for a block, and how far apart they begin.
struct Panels {
  const float* data;
  int64_t size;
};

// Those of columns [j, j + cols) over [i, i + inner), packed to `memory` unless
// B is packed.
Panels PanelsOf(const MatMulShape& s, const float* b, int64_t i, int64_t inner,
                int64_t j, int64_t cols, std::vector<float>& memory) {
  if (s.b_layout == RightLayout::kPacked) {
    return {b + j * s.inner + i * kPanel, kPanel * s.inner};
  }
  const int64_t size = kPanel * inner + kGap;
  float* to = Memory(memory, (cols + kPanel - 1) / kPanel * size);
  if (s.b_layout == RightLayout::kPlain) {
    PackPlain(b + i * s.b_stride + j, s.b_stride, inner, cols, to, size);
  } else {
    PackTransposed(b + j * s.b_stride + i, s.b_stride, inner, cols, to, size);
  }
  return {to, size};
}

void PanelProductImpl(const MatMulShape& s, const float* a, const float* b,
                      const float* bias, float* c) {
  thread_local std::vector<float> right, left, start;
  const int64_t most_inner = std::clamp<int64_t>(s.inner, 1, kInner);
  const int64_t most_cols = kBlock / most_inner / kPanel * kPanel;
  // What a first block starts from, filled up to whole panels.
  const int64_t padded = (s.cols + kPanel - 1) / kPanel * kPanel;
  float* from = Memory(start, padded);
  std::fill_n(from, padded, 0.0f);
  if (bias != nullptr) std::copy_n(bias, s.cols, from);
  for (int64_t i = 0; i == 0 || i < s.inner; i += kInner) {
    const int64_t inner = std::min(kInner, s.inner - i);
    for (int64_t j = 0; j < s.cols; j += most_cols) {
      const int64_t cols = std::min(most_cols, s.cols - j);
      const Panels panels = PanelsOf(s, b, i, inner, j, cols, right);
      const Block block = {.a = a + (s.a_transposed ? i * s.a_stride : i),
                           .a_stride = s.a_stride,
                           .panels = panels.data,
                           .panel_size = panels.size,
                           .inner = inner,
                           .cols = cols,
                           .bias = i > 0 || s.accumulate ? nullptr : from + j,
                           .c = c + j,
                           .c_stride = s.c_stride};
      if (s.a_transposed) {
        RunBlockTransposed(
            block, s.rows,
            Memory(left, kLeftRows / kTileRows * TileSize(inner)));
      } else {
        RunBlock(block, s.rows);
      }
    }
  }
}

void PanelPackImpl(const float* b, int64_t inner, int64_t cols, int64_t stride,
                   float* packed) {
  PackTransposed(b, stride, inner, cols, packed, kPanel * inner);
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(PanelProductImpl);
HWY_EXPORT(PanelPackImpl);

void PanelProduct(const MatMulShape& shape, const float* a, const float* b,
                  const float* bias, float* c) {
  HWY_DYNAMIC_DISPATCH(PanelProductImpl)(shape, a, b, bias, c);
}

size_t PanelPackedSize(int64_t inner, int64_t cols) {
  return static_cast<size_t>((cols + 15) / 16 * 16 * inner);
}

void PanelPack(const float* b, int64_t inner, int64_t cols, int64_t stride,
               float* packed) {
  HWY_DYNAMIC_DISPATCH(PanelPackImpl)(b, inner, cols, stride, packed);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
