// One matrix product through oneDNN. Private to lib/ops: the only file beside
// matmul.cc that knows how oneDNN is called is linear.cc.
#ifndef PIPEFORMER_LIB_OPS_MATMUL_H_
#define PIPEFORMER_LIB_OPS_MATMUL_H_

#include <cstddef>
#include <cstdint>

namespace pipeformer {

// How the right factor lies in memory.
enum class RightLayout { kPlain, kTransposed, kPacked };

// C [rows, cols] = A [rows, inner] B [inner, cols], all f32.
struct MatMulShape {
  int64_t rows, cols, inner;
  bool a_transposed;     // A is stored as [inner, rows]
  RightLayout b_layout;  // kTransposed: B is stored as [cols, inner]
  bool accumulate;       // C += A B instead of C = A B
  bool bias;             // adds bias [cols] to every row
  int64_t a_stride, b_stride, c_stride;  // floats between stored rows

  bool operator==(const MatMulShape&) const = default;
};

// Runs one product on the calling thread. Primitives are made once for each
// shape and thread. Requires: `bias` is null unless shape.bias.
void MatMul(const MatMulShape& shape, const float* a, const float* b,
            const float* bias, float* c);

// Whether kPacked gives every row the same bits however many rows there are.
// oneDNN's AVX-512 product does; its older one (gemm:jit) does not, measured
// with version 2.6.
bool PackedRowsAreIndependent();

// Floats that a packed right factor of [inner, cols] takes.
size_t PackedSize(int64_t inner, int64_t cols);

// Packs B, stored as [cols, inner] with `stride`, for kPacked.
void PackRight(const float* b, int64_t inner, int64_t cols, int64_t stride,
               float* packed);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_MATMUL_H_
