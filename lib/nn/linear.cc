#include "lib/nn/linear.h"

#include "lib/ops/embedding.h"
#include "lib/ops/layer_norm.h"
#include "lib/ops/vector_ops.h"

namespace pipeformer {

Linear::Linear(const Parameter* weight, const Parameter* bias,
               int64_t bias_first)
    : weight_(weight),
      bias_(bias),
      bias_first_(bias_first),
      count_(weight->rows) {}

Linear Linear::Rows(int64_t first, int64_t count) const {
  Linear part(weight_, bias_, bias_first_ + first);
  part.first_ = first_ + first;
  part.count_ = count;
  return part;
}

Variable Linear::operator()(Context& context, Variable x) const {
  const Timed timed(context.TimeOf(Op::kLinear));
  Variable y = context.New(x.rows(), out());
  Apply(context, x.value, y.value);
  if (context.tape == nullptr) return y;
  context.tape->Record(Op::kLinear, context.arena,
                       [this, gradients = context.gradients, x, y] {
                         Backward(gradients, x.value, y.grad, x.grad);
                       });
  return y;
}

void Linear::Infer(Matrix x, Matrix dst) const {
  LinearForward(x, weights(), packed_.get(), bias(), dst);
}

void Linear::Apply(const Context& context, Matrix x, Matrix dst) const {
  const bool training = context.tape != nullptr;
  LinearForward(x, weights(), training ? nullptr : packed_.get(), bias(), dst);
}

void Linear::Backward(float* gradients, Matrix x, Matrix d_dst,
                      Matrix d_x) const {
  if (d_x.data != nullptr) LinearBackwardSource(d_dst, weights(), d_x);
  float* d_bias =
      bias_ == nullptr ? nullptr : gradients + bias_->offset + bias_first_;
  LinearBackwardWeights(
      x, d_dst, GradientOf(*weight_, gradients).Rows(first_, count_), d_bias);
}

void Linear::Pack() { packed_ = std::make_shared<PackedWeights>(weights()); }

LayerNorm::LayerNorm(ParameterTable& table, const std::string& name,
                     int64_t width)
    : gain_(&table.DeclareVector(name + ".weight", width, 1)),
      bias_(&table.DeclareVector(name + ".bias", width, 0)) {}

Variable LayerNorm::operator()(Context& context, Variable x) const {
  const Timed timed(context.TimeOf(Op::kNorm));
  Variable y = context.New(x.rows(), x.width());
  const float* gain = gain_->value.data;
  Matrix statistics;
  if (context.tape != nullptr) {
    statistics = context.arena.NewMatrix(x.rows(), 2);
  }
  LayerNormForward(x.value, gain, bias_->value.data, statistics, y.value);
  if (context.tape != nullptr) {
    float* d_gain = GradientOf(*gain_, context.gradients).data;
    float* d_bias = GradientOf(*bias_, context.gradients).data;
    context.tape->Record(Op::kNorm, context.arena,
                         [x, y, gain, statistics, d_gain, d_bias] {
                           LayerNormBackward(x.value, gain, statistics, y.grad,
                                             {x.grad, d_gain, d_bias});
                         });
  }
  return y;
}

Variable Embed(Context& context, const Parameter& table,
               std::span<const int32_t> ids, float scale) {
  const Timed timed(context.TimeOf(Op::kEmbedding));
  Variable y = context.New(static_cast<int64_t>(ids.size()), table.cols);
  EmbeddingForward(ids, table.value, scale, y.value);
  if (context.tape != nullptr) {
    const Matrix d_table = GradientOf(table, context.gradients);
    context.tape->Record(Op::kEmbedding, context.arena,
                         [ids, scale, y, d_table] {
                           EmbeddingBackward(ids, scale, y.grad, d_table);
                         });
  }
  return y;
}

Variable GatherRows(Context& context, Variable x,
                    std::span<const int32_t> rows) {
  Variable y = context.New(static_cast<int64_t>(rows.size()), x.width());
  EmbeddingForward(rows, x.value, 1, y.value);
  if (context.tape != nullptr) {
    context.tape->Record(Op::kOther, context.arena, [rows, x, y] {
      EmbeddingBackward(rows, 1, y.grad, x.grad);
    });
  }
  return y;
}

Variable DropoutAdd(Context& context, Variable x, Variable residual,
                    float probability) {
  const Timed timed(context.TimeOf(Op::kResidual));
  Variable y = context.New(x.rows(), x.width());
  const Dropout dropout = context.NextDropout(probability);
  DropoutAddForward(x.value, residual.value, dropout, y.value);
  if (context.tape != nullptr) {
    context.tape->Record(Op::kResidual, context.arena,
                         [x, residual, dropout, y] {
                           DropoutBackward(y.grad, dropout, x.grad);
                           if (residual.grad.data != nullptr)
                             AddTo(y.grad, residual.grad);
                         });
  }
  return y;
}

Variable Activate(Context& context, Variable x, Activation activation,
                  float dropout_probability) {
  const Timed timed(context.TimeOf(Op::kActivation));
  Variable y = context.New(x.rows(), x.width());
  const Dropout dropout = context.NextDropout(dropout_probability);
  ActivationForward(x.value, activation, dropout, y.value);
  if (context.tape != nullptr) {
    context.tape->Record(
        Op::kActivation, context.arena, [x, activation, dropout, y] {
          ActivationBackward(x.value, y.grad, activation, dropout, x.grad);
        });
  }
  return y;
}

Variable DropoutOf(Context& context, Variable x, float probability) {
  if (context.random == nullptr || probability == 0) return x;
  return DropoutAdd(context, x, Variable{}, probability);
}

}  // namespace pipeformer
