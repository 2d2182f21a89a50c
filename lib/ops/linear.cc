#include "lib/ops/linear.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "lib/ops/matmul.h"
#include "lib/ops/vector_ops.h"

namespace pipeformer {
namespace {

// Calls `run(begin, count)` over `rows` in pieces of few distinct sizes:
// multiples of 64 up to 512, then one rest below 64. oneDNN makes a primitive
// for each size, so a ragged batch must not bring a new one every time.
template <class Run>
void ForEachPiece(int64_t rows, Run run) {
  int64_t begin = 0;
  while (begin < rows) {
    const int64_t left = rows - begin;
    const int64_t count =
        left < 64 ? left : std::min<int64_t>(512, left / 64 * 64);
    run(begin, count);
    begin += count;
  }
}

void CopyRows(Matrix src, Matrix dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    std::copy_n(src.Row(r), src.cols, dst.Row(r));
  }
}

// `m` itself where its rows follow each other, else a dense matrix of its shape
// over `memory`.
Matrix DenseOr(Matrix m, std::vector<float>& memory) {
  if (m.stride == m.cols) return m;
  memory.resize(std::max(memory.size(), static_cast<size_t>(m.size())));
  return DenseMatrix(memory.data(), m.rows, m.cols);
}

}  // namespace

struct PackedWeights::Buffer {
  explicit Buffer(size_t count)
      : data(static_cast<float*>(
            ::operator new (count * sizeof(float), std::align_val_t{64}))) {}
  ~Buffer() { ::operator delete (data, std::align_val_t{64}); }
  float* data;
};

PackedWeights::PackedWeights(Matrix weights) {
  const int64_t out = weights.rows, in = weights.cols;
  buffer_ = std::make_unique<Buffer>(PackedSize(in, out));
  PackRight(weights.data, in, out, weights.stride, buffer_->data);
}

PackedWeights::~PackedWeights() = default;

const float* PackedWeights::data() const { return buffer_->data; }

namespace {

// dst = src weights^T + bias, for all rows at once.
void ForwardPiece(Matrix src, Matrix weights, const PackedWeights* packed,
                  const float* bias, Matrix dst) {
  const bool plain = packed == nullptr;
  MatMul({.rows = src.rows,
          .cols = weights.rows,
          .inner = weights.cols,
          .a_transposed = false,
          .b_layout = plain ? RightLayout::kTransposed : RightLayout::kPacked,
          .accumulate = false,
          .bias = bias != nullptr,
          .a_stride = src.stride,
          .b_stride = weights.stride,
          .c_stride = dst.stride},
         src.data, plain ? weights.data : packed->data(), bias, dst.data);
}

}  // namespace

void LinearForward(Matrix src, Matrix weights, const PackedWeights* packed,
                   const float* bias, Matrix dst) {
  if (!MatMulIsOneDnn()) return ForwardPiece(src, weights, packed, bias, dst);
  thread_local std::vector<float> src_memory, dst_memory;
  ForEachPiece(src.rows, [&](int64_t begin, int64_t count) {
    const Matrix from = src.Rows(begin, count), to = dst.Rows(begin, count);
    const Matrix a = DenseOr(from, src_memory), c = DenseOr(to, dst_memory);
    if (a.data != from.data) CopyRows(from, a);
    ForwardPiece(a, weights, packed, bias, c);
    if (c.data != to.data) CopyRows(c, to);
  });
}

namespace {

// For the rows and outputs of one piece.
void BackwardPiece(Matrix src, Matrix weights, Matrix d_dst,
                   const LinearGradients& g) {
  if (g.d_src.data != nullptr) {
    MatMul({.rows = d_dst.rows,
            .cols = weights.cols,
            .inner = weights.rows,
            .a_transposed = false,
            .b_layout = RightLayout::kPlain,
            .accumulate = g.write_src == Write::kAdd,
            .bias = false,
            .a_stride = d_dst.stride,
            .b_stride = weights.stride,
            .c_stride = g.d_src.stride},
           d_dst.data, weights.data, nullptr, g.d_src.data);
  }
  if (g.d_weights.data != nullptr) {
    MatMul({.rows = g.d_weights.rows,
            .cols = g.d_weights.cols,
            .inner = d_dst.rows,
            .a_transposed = true,
            .b_layout = RightLayout::kPlain,
            .accumulate = true,
            .bias = false,
            .a_stride = d_dst.stride,
            .b_stride = src.stride,
            .c_stride = g.d_weights.stride},
           d_dst.data, src.data, nullptr, g.d_weights.data);
  }
  if (g.d_bias != nullptr) SumRows(d_dst, g.d_bias);
}

}  // namespace

void LinearBackward(Matrix src, Matrix weights, Matrix d_dst,
                    const LinearGradients& g) {
  constexpr int64_t kPanel = 512;  // outputs: [512, 512] floats are 1 MB
  ForEachPiece(d_dst.rows, [&](int64_t begin, int64_t count) {
    for (int64_t first = 0; first < weights.rows; first += kPanel) {
      const int64_t outputs = std::min(kPanel, weights.rows - first);
      BackwardPiece(
          src.Rows(begin, count), weights.Rows(first, outputs),
          d_dst.Rows(begin, count).Columns(first, outputs),
          {.d_src = g.d_src.Rows(begin, count),
           .write_src = first > 0 ? Write::kAdd : g.write_src,
           .d_weights = g.d_weights.Rows(first, outputs),
           .d_bias = g.d_bias == nullptr ? nullptr : g.d_bias + first});
    }
  });
}

}  // namespace pipeformer
