// Layer normalisation.
#ifndef PIPEFORMER_LIB_OPS_LAYER_NORM_H_
#define PIPEFORMER_LIB_OPS_LAYER_NORM_H_

#include "lib/tensor/matrix.h"

namespace pipeformer {

// Scales each row of `src` to zero mean and unit variance, then applies gain
// and bias.
//   src, dst  [rows, width], may be the same matrix
//   gain, bias  [width]
//   statistics  [rows, 2]: mean and inverse deviation, kept for backward;
//               data may be null when no backward follows
// Requires: width > 0.
// Source: Ba et al. 2016, equation 3, epsilon 1e-5 inside the root.
void LayerNormForward(Matrix src, const float* gain, const float* bias,
                      Matrix statistics, Matrix dst);

// What LayerNormBackward gives.
struct LayerNormGradients {
  Matrix d_src;   // [rows, width], set or added to; may be d_dst
  float* d_gain;  // [width], added to
  float* d_bias;  // [width], added to
  Write write_src = Write::kAdd;
};

// The gradients for d_dst [rows, width]; src and statistics as in forward.
void LayerNormBackward(Matrix src, const float* gain, Matrix statistics,
                       Matrix d_dst, LayerNormGradients gradients);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_LAYER_NORM_H_
