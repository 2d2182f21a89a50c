// The matrix product of oneDNN. Primitives are made once for each shape and
// thread. Private to lib/ops, used by matmul.cc.
#ifndef PIPEFORMER_LIB_OPS_ONEDNN_PRODUCT_H_
#define PIPEFORMER_LIB_OPS_ONEDNN_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "lib/ops/matmul.h"

namespace pipeformer {

// Whether this processor has AVX-512 and oneDNN uses it. Then a packed B gives
// every row the same bits however many rows there are; oneDNN's older product
// (gemm:jit) does not, measured with version 2.6.
bool OneDnnHasAvx512();

// As MatMul, PackedSize and PackRight.
void OneDnnProduct(const MatMulShape& shape, const float* a, const float* b,
                   const float* bias, float* c);
size_t OneDnnPackedSize(int64_t inner, int64_t cols);
void OneDnnPack(const float* b, int64_t inner, int64_t cols, int64_t stride,
                float* packed);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ONEDNN_PRODUCT_H_
