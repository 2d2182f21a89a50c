#include "lib/ops/linear.h"

#include <algorithm>
#include <cstdlib>
#include <new>

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

}  // namespace

struct PackedWeights::Buffer {
  explicit Buffer(size_t count)
      : data(static_cast<float*>(
            ::operator new (count * sizeof(float), std::align_val_t{64}))) {}
  ~Buffer() { ::operator delete (data, std::align_val_t{64}); }
  float* data;
};

PackedWeights::PackedWeights(Matrix weights)
    : buffer_(
          std::make_unique<Buffer>(PackedSize(weights.cols, weights.rows))) {
  PackRight(weights.data, weights.cols, weights.rows, weights.stride,
            buffer_->data);
}

PackedWeights::~PackedWeights() = default;

const float* PackedWeights::data() const { return buffer_->data; }

void LinearForward(Matrix src, Matrix weights, const PackedWeights* packed,
                   const float* bias, Matrix dst) {
  const bool plain = packed == nullptr;
  ForEachPiece(src.rows, [&](int64_t begin, int64_t count) {
    MatMul({.rows = count,
            .cols = weights.rows,
            .inner = weights.cols,
            .a_transposed = false,
            .b_layout = plain ? RightLayout::kTransposed : RightLayout::kPacked,
            .accumulate = false,
            .bias = bias != nullptr,
            .a_stride = src.stride,
            .b_stride = weights.stride,
            .c_stride = dst.stride},
           src.Row(begin), plain ? weights.data : packed->data(), bias,
           dst.Row(begin));
  });
}

void LinearBackwardSource(Matrix d_dst, Matrix weights, Matrix d_src) {
  ForEachPiece(d_dst.rows, [&](int64_t begin, int64_t count) {
    MatMul({.rows = count,
            .cols = weights.cols,
            .inner = weights.rows,
            .a_transposed = false,
            .b_layout = RightLayout::kPlain,
            .accumulate = true,
            .bias = false,
            .a_stride = d_dst.stride,
            .b_stride = weights.stride,
            .c_stride = d_src.stride},
           d_dst.Row(begin), weights.data, nullptr, d_src.Row(begin));
  });
}

void LinearBackwardWeights(Matrix src, Matrix d_dst, Matrix d_weights,
                           float* d_bias) {
  ForEachPiece(src.rows, [&](int64_t begin, int64_t count) {
    MatMul({.rows = d_weights.rows,
            .cols = d_weights.cols,
            .inner = count,
            .a_transposed = true,
            .b_layout = RightLayout::kPlain,
            .accumulate = true,
            .bias = false,
            .a_stride = d_dst.stride,
            .b_stride = src.stride,
            .c_stride = d_weights.stride},
           d_dst.Row(begin), src.Row(begin), nullptr, d_weights.data);
  });
  if (d_bias != nullptr) SumRows(d_dst, d_bias);
}

}  // namespace pipeformer
