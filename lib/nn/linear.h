// The recording forms of the matrix layers: fully connected, normalisation and
// embedding. Each runs its kernel and leaves its backward on the tape.
#ifndef PIPEFORMER_LIB_NN_LINEAR_H_
#define PIPEFORMER_LIB_NN_LINEAR_H_

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lib/nn/context.h"
#include "lib/ops/activation.h"
#include "lib/ops/linear.h"
#include "lib/ops/quantized_linear.h"

namespace pipeformer {

// What inference multiplies: single precision, or whole numbers of eight bits
// (quantized_linear.h). Training knows the first alone.
enum class Precision { kFloat32, kInt8 };

// y = x W^T + b over rows [first, first + count) of a parameter, so that one
// stored matrix can serve as several layers (the projections of attention).
class Linear {
 public:
  Linear() = default;
  // `bias` may be null; its element `bias_first` belongs to the first row.
  Linear(const Parameter* weight, const Parameter* bias,
         int64_t bias_first = 0);

  // The layer made of rows [first, first + count) of W and b.
  Linear Rows(int64_t first, int64_t count) const;

  // x [rows, in] -> [rows, out].
  Variable operator()(Context& context, Variable x) const;

  // Into `dst` [rows, out], recording nothing, with the packed weights if any.
  void Infer(Matrix x, Matrix dst) const;

  // The same part after part, in order: calls see(first, y) with the outputs y
  // [rows, n] from number `first` on, which lie in `memory` until the next. It
  // must not run a layer itself.
  //   memory  [rows * part()]
  using SeePart = std::function<void(int64_t first, Matrix y)>;
  void InferParts(Matrix x, float* memory, const SeePart& see) const;

  // Most outputs of a part: all, where Pack did not say otherwise.
  int64_t part() const;

  // The same, but where `context` has a tape with the weights of this moment,
  // which training has moved since they were packed.
  void Apply(const Context& context, Matrix x, Matrix dst) const;

  // The gradients for d_dst [rows, out]: of the weights and the bias added to
  // the buffer `gradients` of all parameters, of x to d_x as `write` says.
  void Backward(float* gradients, Matrix x, Matrix d_dst, Matrix d_x,
                Write write) const;

  // Copies the weights into the form that inference multiplies fastest, in
  // parts of so many outputs; to be called again when they change. Not
  // thread-safe.
  void Pack(Precision precision, int64_t part);
  void Pack(Precision precision) { Pack(precision, count_); }

  int64_t out() const { return count_; }

 private:
  struct Packed;

  // Runs the part of the outputs [first, first + dst.cols) of `x`, which
  // Round(x) has seen.
  void InferPart(Matrix x, int64_t first, Matrix dst) const;
  void Round(Matrix x) const;

  Matrix weights() const { return weight_->value.Rows(first_, count_); }
  const float* bias() const {
    return bias_ == nullptr ? nullptr : bias_->value.data + bias_first_;
  }

  const Parameter* weight_ = nullptr;
  const Parameter* bias_ = nullptr;
  int64_t first_ = 0;  // row of the weights
  int64_t bias_first_ = 0;
  int64_t count_ = 0;
  std::shared_ptr<const Packed> packed_;
};

class LayerNorm {
 public:
  LayerNorm() = default;
  LayerNorm(ParameterTable& table, const std::string& name, int64_t width);

  // x [rows, width] -> [rows, width].
  Variable operator()(Context& context, Variable x) const;

 private:
  const Parameter* gain_ = nullptr;
  const Parameter* bias_ = nullptr;
};

// [rows, width] of scale * table[ids].
Variable Embed(Context& context, const Parameter& table,
               std::span<const int32_t> ids, float scale);

// [count, width]: the rows of x that `rows` names.
Variable GatherRows(Context& context, Variable x,
                    std::span<const int32_t> rows);

// residual + dropout(x); both [rows, width]. Takes the place of x, which must
// have no other use.
Variable DropoutAdd(Context& context, Variable x, Variable residual,
                    float probability);

// dropout(activation(x)); x and the result [rows, width]. The same holds.
Variable Activate(Context& context, Variable x, Activation activation,
                  float dropout_probability);

// dropout(x), the same variable when nothing is dropped. The same holds.
Variable DropoutOf(Context& context, Variable x, float probability);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_LINEAR_H_
