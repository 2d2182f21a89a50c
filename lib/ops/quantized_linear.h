// The fully connected layer in eight bits, y = x W^T + b:
//   w[o][i] ~ weight_scale[o] * a whole number in [-127, 127], made once;
//   x[r][i] ~ row_scale[r] * the same, made when the row comes;
//   y[r][o] = (exact sum of their products) (row_scale[r] weight_scale[o])
//             + b[o].
// A scale is the largest magnitude of its row over 127. Sums of whole numbers
// know no order: a row of the result depends on its row of x alone, to the last
// bit, and is the same on every processor with fused multiply-adds.
// Source: Jacob et al. 2018, section 2 (whole-number products and scales);
// Bhandare et al. 2019, section 4 (a Transformer so quantised).
#ifndef PIPEFORMER_LIB_OPS_QUANTIZED_LINEAR_H_
#define PIPEFORMER_LIB_OPS_QUANTIZED_LINEAR_H_

#include <cstdint>
#include <vector>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// The most columns that sums of 32 bits hold: 2^31 / 127^2.
inline constexpr int64_t kMostQuantizedInputs = 133143;

// Rounds a row of weights [count] to `values`; returns its scale. Scales have
// 17 significant bits, so that scale * value is exact and, rounded again, gives
// the same values and scale. With a weight that is not finite it is NaN.
float QuantizeWeights(const float* row, int64_t count, int16_t* values);

// Weights and bias in the layout of the product. Made once, read by any number
// of threads.
class QuantizedWeights {
 public:
  static constexpr int64_t kPanel = 16;  // outputs side by side

  // Quantises `weights` [out, in], in <= kMostQuantizedInputs; copies `bias`
  // [out], which may be null.
  QuantizedWeights(Matrix weights, const float* bias);

  int64_t out() const { return out_; }
  int64_t in() const { return in_; }

  // [panels, pairs, kPanel, 2]: two inputs at a time; panels and pairs are
  // filled up with zeros.
  const int8_t* panels() const { return panels_.data(); }
  const float* scales() const { return scales_.data(); }  // [panels, kPanel]
  const float* bias() const { return bias_.data(); }      // [panels, kPanel]

 private:
  int64_t out_, in_;
  std::vector<int8_t> panels_;
  std::vector<float> scales_, bias_;
};

// The rows of a source, rounded; one that is used again keeps its memory.
class QuantizedRows {
 public:
  // Rounds `src` [rows, in]. A row with a value that is not finite will give a
  // row of NaN; one whose values are all below 1e-30 counts as zero.
  void Set(Matrix src);

  int64_t rows() const { return rows_; }
  int64_t in() const { return in_; }
  int64_t stride() const { return stride_; }  // in, made even
  const int16_t* values() const { return values_.data(); }
  const float* scales() const { return scales_.data(); }

 private:
  int64_t rows_ = 0, in_ = 0, stride_ = 0;
  std::vector<int16_t> values_;  // [rows, stride]
  std::vector<float> scales_;    // [rows]
};

// dst = src weights^T + bias; dst [rows, out]. Requires: both have the same in.
void QuantizedLinearForward(const QuantizedRows& src,
                            const QuantizedWeights& weights, Matrix dst);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_QUANTIZED_LINEAR_H_
