#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/attention_step.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "lib/ops/attention_softmax-inl.h"
#include "lib/ops/attention_step.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

// Heads side by side where there is but one query.
constexpr int64_t kTileHeads = 4;

// The values of row j, all heads.
HWY_INLINE const float* ValuesOf(const float* const* blocks, int64_t width,
                                 int64_t j) {
  const auto row = static_cast<uint64_t>(j);  // divided by shifting
  return blocks[row / kKeyBlock] +
         (kKeyBlock + static_cast<int64_t>(row % kKeyBlock)) * width;
}

// The step of a group: what does not change from tile to tile.
struct Step {
  const StepGroup& group;
  const AttentionOptions& options;
  int64_t head_dim;
  Matrix query, dst;
  RelativeScratch relative;
  int64_t padded_rows;  // of the group
  int64_t padded_keys;  // of the query that has most
  float* products;      // [kStepQueries, padded_rows], with every row
  float* weights;       // [heads, kStepQueries, padded_keys]

  bool has_bias() const {
    return options.slopes != nullptr || options.window > 0 ||
           options.relative.keys != nullptr;
  }
  int64_t width() const { return options.num_heads * head_dim; }
  float* Weights(int64_t head, int64_t r) const {
    return weights + (head * kStepQueries + r) * padded_keys;
  }
};

// dst[h R + r][j] = scale * (query r under head h . key j), H heads from `head`
// on and R queries, for all padded rows j. As Products.
// Not inline: the loop needs the registers for its addresses.
template <int H, int R>
HWY_NOINLINE void StepProducts(const Step& s, int64_t head,
                               const float* const* queries, float* const* dst) {
  const Lanes d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Lanes()));
  constexpr int kVectors = std::min(2, static_cast<int>(kKeyBlock) / kLanes);
  const int64_t head_dim = s.head_dim, head_size = head_dim * kKeyBlock;
  const float* query[H * R];
  for (int i = 0; i < H * R; ++i) query[i] = queries[i];
  for (int64_t j = 0; j < s.padded_rows; j += kVectors * kLanes) {
    const float* keys[H];
    hn::Vec<Lanes> sum[H][R][kVectors];
    for (int h = 0; h < H; ++h) {
      keys[h] = s.group.blocks[j / kKeyBlock] + (head + h) * head_size +
                j % kKeyBlock;
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < kVectors; ++v) sum[h][r][v] = hn::Zero(d);
      }
    }
    for (int64_t i = 0; i < head_dim; ++i) {
      for (int h = 0; h < H; ++h) {
        hn::Vec<Lanes> key[kVectors];
        for (int v = 0; v < kVectors; ++v) {
          key[v] = hn::LoadU(d, keys[h] + i * kKeyBlock + v * kLanes);
        }
        for (int r = 0; r < R; ++r) {
          const auto x = hn::Set(d, query[h * R + r][i]);
          for (int v = 0; v < kVectors; ++v) {
            sum[h][r][v] = hn::MulAdd(x, key[v], sum[h][r][v]);
          }
        }
      }
    }
    for (int h = 0; h < H; ++h) {
      for (int r = 0; r < R; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          hn::StoreU(hn::Mul(sum[h][r][v], hn::Set(d, s.options.scale)), d,
                     dst[h * R + r] + j + v * kLanes);
        }
      }
    }
  }
}

// What AddBias needs of one query under one head.
HWY_INLINE Head StepHead(const Step& s, const StepQuery& q, int64_t head,
                         const float* query) {
  Head h = {};
  h.head_dim = s.head_dim;
  h.num_queries = 1;
  h.num_keys = q.num_keys;
  h.padded = s.padded_keys;
  h.query = query;
  h.scale = s.options.scale;
  h.window = s.options.window;
  h.slope = s.options.slopes == nullptr ? 0 : s.options.slopes[head];
  h.relative = s.options.relative;
  return h;
}

// Softmax for `count` rows of `padded` scores.
HWY_INLINE void SoftmaxRows(float* const* rows, const int64_t* visible,
                            int64_t padded, int count) {
  int r = 0;
  for (; r + 4 <= count; r += 4) Softmax<4>(rows + r, visible + r, padded);
  for (; r + 2 <= count; r += 2) Softmax<2>(rows + r, visible + r, padded);
  if (r < count) Softmax<1>(rows + r, visible + r, padded);
}

// The weights of R queries from t on under H heads from `head` on.
template <int H, int R>
HWY_INLINE void WeightTile(const Step& s, int64_t head, int64_t t) {
  const float* queries[H * R];
  float* products[H * R];
  float* weights[H * R];
  int64_t visible[H * R];
  for (int h = 0; h < H; ++h) {
    for (int r = 0; r < R; ++r) {
      const int i = h * R + r;
      const StepQuery& q = s.group.queries[static_cast<size_t>(t + r)];
      queries[i] =
          s.query.Row(s.group.first_query + t + r) + (head + h) * s.head_dim;
      weights[i] = s.Weights(head + h, r);
      products[i] =
          q.key_rows == nullptr ? weights[i] : s.products + i * s.padded_rows;
      visible[i] = q.num_keys;
    }
  }
  StepProducts<H, R>(s, head, queries, products);
  for (int i = 0; i < H * R; ++i) {
    const StepQuery& q = s.group.queries[static_cast<size_t>(t + i % R)];
    if (q.key_rows != nullptr) {
      for (int64_t j = 0; j < q.num_keys; ++j) {
        weights[i][j] = products[i][q.key_rows[j]];
      }
    }
    if (!s.has_bias()) continue;
    AddBias(StepHead(s, q, head + i / R, queries[i]), 0, s.relative,
            weights[i]);
  }
  SoftmaxRows(weights, visible, s.padded_keys, H * R);
}

// dst = the sum over the keys of `q` of weight * value, for V vectors of each
// of H heads, from column i of a head on. As WeightedSum.
template <int H, int V, class D>
HWY_NOINLINE void SumHeadsAt(D d, const Step& s, const StepQuery& q,
                             int64_t head, int64_t i,
                             const float* const* weights, float* dst) {
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  const int64_t width = s.width(), num_keys = q.num_keys;
  const int64_t head_dim = s.head_dim, first = head * head_dim + i;
  const float* const* blocks = s.group.blocks;
  const int32_t* rows = q.key_rows;
  const float* weight[H];
  hn::Vec<D> sum[H][V];
  for (int h = 0; h < H; ++h) {
    weight[h] = weights[h];
    for (int v = 0; v < V; ++v) sum[h][v] = hn::Zero(d);
  }
  for (int64_t j = 0; j < num_keys; ++j) {
    const float* value =
        ValuesOf(blocks, width, rows == nullptr ? j : rows[j]) + first;
    for (int h = 0; h < H; ++h) {
      const auto w = hn::Set(d, weight[h][j]);
      for (int v = 0; v < V; ++v) {
        sum[h][v] = hn::MulAdd(w, hn::LoadU(d, value + h * head_dim + v * n),
                               sum[h][v]);
      }
    }
  }
  for (int h = 0; h < H; ++h) {
    for (int v = 0; v < V; ++v) {
      hn::StoreU(sum[h][v], d, dst + first + h * s.head_dim + v * n);
    }
  }
}

// The same for all columns of H heads.
template <int H>
HWY_INLINE void SumHeads(const Step& s, const StepQuery& q, int64_t head,
                         const float* const* weights, float* dst) {
  const Lanes d;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * n <= s.head_dim; i += 4 * n) {
    SumHeadsAt<H, 4>(d, s, q, head, i, weights, dst);
  }
  for (; i + n <= s.head_dim; i += n) {
    SumHeadsAt<H, 1>(d, s, q, head, i, weights, dst);
  }
  for (; i < s.head_dim; ++i) {
    SumHeadsAt<H, 1>(OneLane(), s, q, head, i, weights, dst);
  }
}

// The result of query t + r, number r of its tile, from rows of its own.
HWY_INLINE void MixOne(const Step& s, int64_t t, int64_t r) {
  const StepQuery& q = s.group.queries[static_cast<size_t>(t + r)];
  float* dst = s.dst.Row(s.group.first_query + t + r);
  int64_t head = 0;
  for (; head + 2 <= s.options.num_heads; head += 2) {
    const float* weights[2] = {s.Weights(head, r), s.Weights(head + 1, r)};
    SumHeads<2>(s, q, head, weights, dst);
  }
  if (head < s.options.num_heads) {
    const float* weights[1] = {s.Weights(head, r)};
    SumHeads<1>(s, q, head, weights, dst);
  }
}

// The results of R queries from t on, which have the same rows.
template <int R>
HWY_INLINE void MixTogether(const Step& s, int64_t t) {
  for (int64_t head = 0; head < s.options.num_heads; ++head) {
    float* out[R];
    const float* weights[R];
    for (int r = 0; r < R; ++r) {
      out[r] = s.dst.Row(s.group.first_query + t + r) + head * s.head_dim;
      weights[r] = s.Weights(head, r);
    }
    WeightedSum<R, false>([&](int r, int64_t j) { return weights[r][j]; },
                          s.group.num_rows, s.head_dim,
                          [&](int64_t j) {
                            return ValuesOf(s.group.blocks, s.width(), j) +
                                   head * s.head_dim;
                          },
                          out);
  }
}

// Adds the relative vectors of values to the result of query t + r.
void MixRelative(const Step& s, int64_t t, int64_t r) {
  const StepQuery& q = s.group.queries[static_cast<size_t>(t + r)];
  for (int64_t head = 0; head < s.options.num_heads; ++head) {
    float* out = s.dst.Row(s.group.first_query + t + r) + head * s.head_dim;
    const Head h = StepHead(s, q, head, nullptr);
    SumByDistance(h, 0, s.Weights(head, r), q.num_keys, s.relative.sums);
    WeightedSum<1, true>(
        [&](int, int64_t b) { return s.relative.sums[b]; }, h.relative.rows(),
        h.head_dim,
        [&](int64_t b) { return h.relative.values + b * h.head_dim; }, &out);
  }
}

// R queries from t on, all heads.
template <int R>
HWY_INLINE void RunTile(const Step& s, int64_t t) {
  int64_t head = 0;
  if (R == 1) {
    for (; head + kTileHeads <= s.options.num_heads; head += kTileHeads) {
      WeightTile<kTileHeads, 1>(s, head, t);
    }
  }
  for (; head < s.options.num_heads; ++head) WeightTile<1, R>(s, head, t);
  if (R > 1 && s.group.queries[static_cast<size_t>(t)].key_rows == nullptr) {
    MixTogether<R>(s, t);
  } else {
    for (int r = 0; r < R; ++r) MixOne(s, t, r);
  }
  for (int r = 0; r < R; ++r) {
    if (s.options.relative.keys != nullptr) MixRelative(s, t, r);
    const StepQuery& q = s.group.queries[static_cast<size_t>(t + r)];
    if (q.weights == nullptr) continue;
    const int64_t padded = PaddedKeys(q.num_keys);
    for (int64_t h = 0; h < s.options.num_heads; ++h) {
      std::copy_n(s.Weights(h, r), padded, q.weights + h * padded);
    }
  }
}

template <int R>
HWY_INLINE void RunTileOf(int64_t count, const Step& s, int64_t t) {
  if constexpr (R > 1) {
    if (count < R) return RunTileOf<R - 1>(count, s, t);
  }
  RunTile<R>(s, t);
}

void AttentionStepImpl(Matrix query, std::span<const StepGroup> groups,
                       const AttentionOptions& options, float* scratch,
                       Matrix dst) {
  const int64_t head_dim = query.cols / options.num_heads;
  const auto relative = RelativeScratch::Make(
      scratch, options.relative.keys, options.relative.rows(), head_dim);
  scratch += RelativeScratchSize(options, head_dim);
  for (const StepGroup& g : groups) {
    int64_t most = 0;
    for (const StepQuery& q : g.queries) most = std::max(most, q.num_keys);
    Step s = {.group = g,
              .options = options,
              .head_dim = head_dim,
              .query = query,
              .dst = dst,
              .relative = relative,
              .padded_rows = PaddedKeys(g.num_rows),
              .padded_keys = PaddedKeys(most),
              .products = scratch,
              .weights = nullptr};
    s.weights = scratch + kStepQueries * s.padded_rows;
    const auto count = static_cast<int64_t>(g.queries.size());
    for (int64_t t = 0; t < count;) {
      const int64_t size = EvenPart(count - t, kStepQueries);
      RunTileOf<kStepQueries>(size, s, t);
      t += size;
    }
  }
}

void PutRowsImpl(Matrix keys, Matrix values, float* const* blocks) {
  const int64_t width = keys.cols;
  for (int64_t first = 0; first < keys.rows; first += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, keys.rows - first);
    float* block = blocks[first / kKeyBlock];
    Pack(
        count, width, [&](int64_t j) { return keys.Row(first + j); }, block);
    float* to = block + kKeyBlock * width;
    for (int64_t j = 0; j < count; ++j, to += width) {
      std::copy_n(values.Row(first + j), width, to);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {
namespace {

AttentionOptions Reaching(const AttentionOptions& options,
                          std::span<const StepGroup> groups, int64_t head_dim) {
  int64_t reach = 0;
  for (const StepGroup& g : groups) {
    for (const StepQuery& q : g.queries) reach = std::max(reach, q.num_keys);
  }
  return WithReach(options, reach, head_dim);
}

}  // namespace

HWY_EXPORT(AttentionStepImpl);
HWY_EXPORT(PutRowsImpl);

void PutRows(Matrix keys, Matrix values, float* const* blocks) {
  HWY_DYNAMIC_DISPATCH(PutRowsImpl)(keys, values, blocks);
}

void PutRow(const float* key, const float* value, int64_t width, int64_t row,
            float* const* blocks) {
  float* block = blocks[row / kKeyBlock];
  const int64_t place = row % kKeyBlock;
  for (int64_t i = 0; i < width; ++i) block[i * kKeyBlock + place] = key[i];
  std::copy_n(value, width, block + (kKeyBlock + place) * width);
}

int64_t AttentionStepScratchSize(std::span<const StepGroup> groups,
                                 const AttentionOptions& options,
                                 int64_t head_dim) {
  int64_t size = 0;
  for (const StepGroup& g : groups) {
    // Products of a tile, then weights of its queries under all heads.
    int64_t keys = 0;
    for (const StepQuery& q : g.queries) keys = std::max(keys, q.num_keys);
    size =
        std::max(size, kStepQueries * (PaddedKeys(g.num_rows) +
                                       options.num_heads * PaddedKeys(keys)));
  }
  return size +
         RelativeScratchSize(Reaching(options, groups, head_dim), head_dim);
}

void AttentionStep(Matrix query, std::span<const StepGroup> groups,
                   const AttentionOptions& options, float* scratch,
                   Matrix dst) {
  const int64_t head_dim = query.cols / options.num_heads;
  HWY_DYNAMIC_DISPATCH(AttentionStepImpl)
  (query, groups, Reaching(options, groups, head_dim), scratch, dst);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
