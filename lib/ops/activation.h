// The non-linearity inside the feed-forward layer, with its dropout.
#ifndef PIPEFORMER_LIB_OPS_ACTIVATION_H_
#define PIPEFORMER_LIB_OPS_ACTIVATION_H_

#include "lib/ops/dropout.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// kRelu   max(0, x)                        Vaswani et al. 2017, section 3.3
// kGelu   x Phi(x), with the exact normal distribution function
//                                          Hendrycks & Gimpel 2016
// kSwish  x / (1 + exp(-x))                Ramachandran et al. 2017, beta 1
enum class Activation { kRelu, kGelu, kSwish };

// dst = dropout(activation(src)); both [rows, cols], dst may be src.
void ActivationForward(Matrix src, Activation activation, Dropout dropout,
                       Matrix dst);

// Turns d_dst into d_src in place: d *= activation'(src) dropout'; [rows,
// cols].
//   src  the input of forward; for kRelu its result will do
void ActivationBackward(Matrix src, Activation activation, Dropout dropout,
                        Matrix d);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ACTIVATION_H_
