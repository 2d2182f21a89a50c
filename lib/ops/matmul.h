// One matrix product: oneDNN's where the processor has AVX-512, else that of
// panel_product.h. Private to lib/ops, used by linear.cc.
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

// Runs one product on the calling thread. Requires: `bias` is null unless
// shape.bias, and no shape has both `bias` and `accumulate`.
void MatMul(const MatMulShape& shape, const float* a, const float* b,
            const float* bias, float* c);

// Whether MatMul is oneDNN's: it wants few distinct numbers of rows, since it
// makes a primitive for each, and dense matrices, since any other stride takes
// it to slow paths whose rows depend on their number.
bool MatMulIsOneDnn();

// Floats that a packed right factor of [inner, cols] takes.
size_t PackedSize(int64_t inner, int64_t cols);

// Packs B, stored as [cols, inner] with `stride`, for kPacked.
void PackRight(const float* b, int64_t inner, int64_t cols, int64_t stride,
               float* packed);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_MATMUL_H_
