// Small element-by-element kernels that belong to no single layer.
#ifndef PIPEFORMER_LIB_OPS_VECTOR_OPS_H_
#define PIPEFORMER_LIB_OPS_VECTOR_OPS_H_

#include <cstdint>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// dst += src; both [rows, cols].
void AddTo(Matrix src, Matrix dst);

// dst = factor * src; both [rows, cols], which may be one.
void SetScaled(Matrix src, float factor, Matrix dst);

// sum[c] += the sum over rows of src[., c].  src [rows, cols], sum [cols].
void SumRows(Matrix src, float* sum);

// Sets every element of dst to zero.
void SetZero(Matrix dst);

// The sum of squares of `count` floats, in double precision.
double SumOfSquares(const float* src, int64_t count);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_VECTOR_OPS_H_
