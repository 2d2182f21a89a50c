// The fully connected layer y = x W^T + b. Every large product of the network
// goes through here.
//
// A row of the result depends on its row of the input alone, to the last bit,
// however many rows are computed together (linear_law_test checks it): with
// packed weights, and with plain ones where these are dense.
#ifndef PIPEFORMER_LIB_OPS_LINEAR_H_
#define PIPEFORMER_LIB_OPS_LINEAR_H_

#include <memory>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// Weights [out, in] in the blocked layout that the product likes best. Made
// once, read by any number of threads.
class PackedWeights {
 public:
  // Copies `weights` [out, in].
  explicit PackedWeights(Matrix weights);
  ~PackedWeights();

  const float* data() const;

 private:
  struct Buffer;
  std::unique_ptr<Buffer> buffer_;
};

// dst = src weights^T + bias.
//   src  [rows, in]
//   weights  [out, in], with its packed copy or null
//   bias  [out] or null
//   dst  [rows, out]
// Training passes plain weights, which change with every update; inference
// packs them once. A result is repeatable within either form.
void LinearForward(Matrix src, Matrix weights, const PackedWeights* packed,
                   const float* bias, Matrix dst);

// What LinearBackward gives, each where it has data:
//   d_src  [rows, in] = or += d_dst weights
//   d_weights  [out, in] += d_dst^T src
//   d_bias  [out] += the sum of the rows of d_dst
struct LinearGradients {
  Matrix d_src = {};
  Write write_src = Write::kAdd;
  Matrix d_weights = {};
  float* d_bias = nullptr;
};

//   src  [rows, in];  weights  [out, in];  d_dst  [rows, out]
// Works on pieces of rows and outputs that stay in the cache for all three.
void LinearBackward(Matrix src, Matrix weights, Matrix d_dst,
                    const LinearGradients& gradients);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_LINEAR_H_
