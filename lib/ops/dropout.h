// Dropout (Srivastava et al. 2014), with scaling at training time so that
// inference needs nothing. Which elements fall is a function of a key and the
// element's index, so forward and backward agree without a stored mask.
#ifndef PIPEFORMER_LIB_OPS_DROPOUT_H_
#define PIPEFORMER_LIB_OPS_DROPOUT_H_

#include <cstdint>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// How likely an element falls, and which ones do.
struct Dropout {
  float probability = 0;  // in [0, 1); 0 keeps everything
  uint64_t key = 0;       // differs for each use in each step

  bool active() const { return probability > 0; }
  float scale() const { return 1 / (1 - probability); }

  // An element falls when its 32 random bits are below this.
  uint32_t threshold() const {
    return static_cast<uint32_t>(static_cast<double>(probability) * 0x1.0p32);
  }
};

// dst = residual + dropout(src); all [rows, cols]. dst may be either input.
// A residual with data == nullptr counts as zero.
void DropoutAddForward(Matrix src, Matrix residual, Dropout dropout,
                       Matrix dst);

// d_src = or += dropout'(d_dst); all [rows, cols], the same key as forward.
// With kSet d_src may be d_dst.
void DropoutBackward(Matrix d_dst, Dropout dropout, Write write, Matrix d_src);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_DROPOUT_H_
