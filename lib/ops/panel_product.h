// The matrix product for processors without AVX-512, where oneDNN's is slower
// and sums a row in an order that depends on how many rows it is given. Here
// every element of the result is one chain of multiply-adds over `inner`, in
// order: it depends on its row of A and its column of B alone, however they
// lie in memory. Private to lib/ops, used by matmul.cc.
//
// Source of the blocking: Goto and van de Geijn, "Anatomy of High-Performance
// Matrix Multiplication", 2008: a block of B stays in the second cache as
// panels, rows of A pass by it, and a tile of C stays in registers.
#ifndef PIPEFORMER_LIB_OPS_PANEL_PRODUCT_H_
#define PIPEFORMER_LIB_OPS_PANEL_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "lib/ops/matmul.h"

namespace pipeformer {

// As MatMul, PackedSize and PackRight. Packed, B is [panels, inner, 16]: panel
// after panel of 16 columns, the last one filled up with zeros.
void PanelProduct(const MatMulShape& shape, const float* a, const float* b,
                  const float* bias, float* c);
size_t PanelPackedSize(int64_t inner, int64_t cols);
void PanelPack(const float* b, int64_t inner, int64_t cols, int64_t stride,
               float* packed);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_PANEL_PRODUCT_H_
