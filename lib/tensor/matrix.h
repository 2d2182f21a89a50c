// A view of a matrix of floats: rows of a batch, a weight, a slice of either.
// Views do not own memory; they are copied freely.
#ifndef PIPEFORMER_LIB_TENSOR_MATRIX_H_
#define PIPEFORMER_LIB_TENSOR_MATRIX_H_

#include <cstdint>

namespace pipeformer {

// `rows` x `cols` floats, row-major; consecutive rows are `stride` floats
// apart (stride >= cols). An absent matrix has data == nullptr.
struct Matrix {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t stride = 0;

  float* Row(int64_t row) const { return data + row * stride; }
  int64_t size() const { return rows * cols; }

  // Columns [begin, begin + count) of every row.
  Matrix Columns(int64_t begin, int64_t count) const {
    return {data == nullptr ? nullptr : data + begin, rows, count, stride};
  }

  // Rows [begin, begin + count).
  Matrix Rows(int64_t begin, int64_t count) const {
    return {data == nullptr ? nullptr : Row(begin), count, cols, stride};
  }
};

// Whether a kernel's result takes the place of what its destination holds, or
// is added to it.
enum class Write { kSet, kAdd };

// A dense matrix over `data`, [rows, cols].
inline Matrix DenseMatrix(float* data, int64_t rows, int64_t cols) {
  return {data, rows, cols, cols};
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TENSOR_MATRIX_H_
