#include "lib/ops/matmul.h"

#include "lib/ops/onednn_product.h"
#include "lib/ops/panel_product.h"

namespace pipeformer {

bool MatMulIsOneDnn() {
  static const bool is_onednn = OneDnnHasAvx512();
  return is_onednn;
}

void MatMul(const MatMulShape& shape, const float* a, const float* b,
            const float* bias, float* c) {
  const auto run = MatMulIsOneDnn() ? OneDnnProduct : PanelProduct;
  run(shape, a, b, bias, c);
}

size_t PackedSize(int64_t inner, int64_t cols) {
  return MatMulIsOneDnn() ? OneDnnPackedSize(inner, cols)
                          : PanelPackedSize(inner, cols);
}

void PackRight(const float* b, int64_t inner, int64_t cols, int64_t stride,
               float* packed) {
  const auto pack = MatMulIsOneDnn() ? OneDnnPack : PanelPack;
  pack(b, inner, cols, stride, packed);
}

}  // namespace pipeformer
