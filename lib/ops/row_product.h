// The product with packed weights for processors without AVX-512. There oneDNN
// sums a row in an order that depends on how many rows it is given; here every
// row is summed in one order. Private to lib/ops, used by linear.cc.
#ifndef PIPEFORMER_LIB_OPS_ROW_PRODUCT_H_
#define PIPEFORMER_LIB_OPS_ROW_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// Outputs that are computed side by side.
inline constexpr int64_t kOutputPanel = 16;

// Floats that packed weights [out, in] take, panel by panel:
// [panels, in, kOutputPanel].
size_t RowPackedSize(int64_t out, int64_t in);

// Packs weights [out, in].
void RowPack(Matrix weights, float* packed);

// dst = src weights^T + bias.
//   src  [rows, in];  packed  by RowPack;  bias  [out] or null
//   dst  [rows, out]
void RowProduct(Matrix src, const float* packed, const float* bias, Matrix dst);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ROW_PRODUCT_H_
