#include "lib/nn/linear.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "lib/ops/embedding.h"
#include "lib/ops/layer_norm.h"
#include "lib/ops/vector_ops.h"

namespace pipeformer {
namespace {

// What the layer at work multiplies in eight bits, one for each thread.
QuantizedRows& RoundedRows() {
  thread_local QuantizedRows rows;
  return rows;
}

}  // namespace

// The parts of the weights, in one precision; the other has none.
struct Linear::Packed {
  int64_t part = 0;
  std::deque<PackedWeights> full;
  std::deque<QuantizedWeights> int8;
};

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
  context.tape->Record(
      Op::kLinear, context.arena, [this, gradients = context.gradients, x, y] {
        if (!*y.has_grad) return;
        Backward(gradients, x.value, y.grad, x.grad, x.ClaimGrad());
      });
  return y;
}

void Linear::Infer(Matrix x, Matrix dst) const {
  Round(x);
  for (int64_t first = 0; first < count_; first += part()) {
    InferPart(x, first, dst.Columns(first, std::min(part(), count_ - first)));
  }
}

void Linear::InferParts(Matrix x, float* memory, const SeePart& see) const {
  Round(x);
  for (int64_t first = 0; first < count_; first += part()) {
    const Matrix y =
        DenseMatrix(memory, x.rows, std::min(part(), count_ - first));
    InferPart(x, first, y);
    see(first, y);
  }
}

int64_t Linear::part() const {
  return packed_ == nullptr ? count_ : packed_->part;
}

void Linear::Round(Matrix x) const {
  if (packed_ != nullptr && !packed_->int8.empty()) RoundedRows().Set(x);
}

void Linear::InferPart(Matrix x, int64_t first, Matrix dst) const {
  const float* b = bias() == nullptr ? nullptr : bias() + first;
  const Matrix w = weights().Rows(first, dst.cols);
  if (packed_ == nullptr) return LinearForward(x, w, nullptr, b, dst);
  const auto number = static_cast<size_t>(first / packed_->part);
  if (packed_->int8.empty()) {
    LinearForward(x, w, &packed_->full[number], b, dst);
  } else {
    QuantizedLinearForward(RoundedRows(), packed_->int8[number], dst);
  }
}

void Linear::Apply(const Context& context, Matrix x, Matrix dst) const {
  if (context.tape == nullptr) return Infer(x, dst);
  LinearForward(x, weights(), nullptr, bias(), dst);
}

void Linear::Backward(float* gradients, Matrix x, Matrix d_dst, Matrix d_x,
                      Write write) const {
  float* d_bias =
      bias_ == nullptr ? nullptr : gradients + bias_->offset + bias_first_;
  LinearBackward(
      x, weights(), d_dst,
      {.d_src = d_x,
       .write_src = write,
       .d_weights = GradientOf(*weight_, gradients).Rows(first_, count_),
       .d_bias = d_bias});
}

void Linear::Pack(Precision precision, int64_t part) {
  auto packed = std::make_shared<Packed>();
  packed->part = part;
  for (int64_t first = 0; first < count_; first += part) {
    const Matrix w = weights().Rows(first, std::min(part, count_ - first));
    if (precision == Precision::kInt8) {
      packed->int8.emplace_back(w,
                                bias() == nullptr ? nullptr : bias() + first);
    } else {
      packed->full.emplace_back(w);
    }
  }
  packed_ = std::move(packed);
}

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
    context.tape->Record(
        Op::kNorm, context.arena, [x, y, gain, statistics, d_gain, d_bias] {
          if (!*y.has_grad) return;
          LayerNormBackward(x.value, gain, statistics, y.grad,
                            {x.grad, d_gain, d_bias, x.ClaimGrad()});
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
                           if (*y.has_grad)
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
      if (!*y.has_grad) return;
      x.CompleteGrad();
      EmbeddingBackward(rows, 1, y.grad, x.grad);
    });
  }
  return y;
}

Variable DropoutAdd(Context& context, Variable x, Variable residual,
                    float probability) {
  const Timed timed(context.TimeOf(Op::kResidual));
  const Variable y = context.InPlaceOf(x);
  const Dropout dropout = context.NextDropout(probability);
  DropoutAddForward(x.value, residual.value, dropout, y.value);
  if (context.tape == nullptr) return y;
  context.tape->Record(Op::kResidual, context.arena, [x, residual, dropout, y] {
    if (!*y.has_grad) return;
    if (residual.grad.data != nullptr) {
      DropoutBackward(y.grad, {}, residual.ClaimGrad(), residual.grad);
    }
    if (dropout.active()) {
      DropoutBackward(y.grad, dropout, Write::kSet, x.grad);
    }
    *x.has_grad = true;  // in place of y's
  });
  return y;
}

Variable Activate(Context& context, Variable x, Activation activation,
                  float dropout_probability) {
  const Timed timed(context.TimeOf(Op::kActivation));
  const bool from_result = activation == Activation::kRelu;
  const Variable y = from_result ? context.InPlaceOf(x) : context.WithGradOf(x);
  const Dropout dropout = context.NextDropout(dropout_probability);
  ActivationForward(x.value, activation, dropout, y.value);
  if (context.tape == nullptr) return y;
  context.tape->Record(
      Op::kActivation, context.arena, [x, activation, dropout, y] {
        if (!*y.has_grad) return;
        ActivationBackward(x.value, activation, dropout, y.grad);
        *x.has_grad = true;  // in place of y's
      });
  return y;
}

Variable DropoutOf(Context& context, Variable x, float probability) {
  if (context.random == nullptr || probability == 0) return x;
  return DropoutAdd(context, x, Variable{}, probability);
}

}  // namespace pipeformer
