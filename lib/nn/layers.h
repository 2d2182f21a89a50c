// The layers of figure 1 of Vaswani et al. 2017.
#ifndef PIPEFORMER_LIB_NN_LAYERS_H_
#define PIPEFORMER_LIB_NN_LAYERS_H_

#include <span>
#include <string>

#include "lib/nn/attention.h"
#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/linear.h"

namespace pipeformer {

// The position-wise feed-forward network, section 3.3:
//   W2 dropout(activation(W1 x + b1)) + b2.
class FeedForward {
 public:
  FeedForward() = default;
  // Declares `name`linear1 and linear2.
  FeedForward(ParameterTable& table, const std::string& name,
              const TransformerConfig& config);

  // x [rows, d_model] -> [rows, d_model].
  Variable operator()(Context& context, Variable x) const;

  template <class Visit>
  void ForEachLinear(Visit visit) {
    visit(up_);
    visit(down_);
  }

 private:
  Linear up_, down_;
  Activation activation_ = Activation::kRelu;
  float dropout_ = 0;
};

// The residual connection around a sublayer and the normalisation before or
// after it (NormPlace).
class Residual {
 public:
  Residual() = default;
  Residual(ParameterTable& table, const std::string& name,
           const TransformerConfig& config)
      : norm_(table, name, config.d_model),
        place_(config.norm),
        dropout_(config.dropout) {}

  // x [rows, d_model]; `sublayer` maps a Variable to one of the same shape.
  template <class Sublayer>
  Variable operator()(Context& context, Variable x, Sublayer sublayer) const {
    if (place_ == NormPlace::kPre) {
      return DropoutAdd(context, sublayer(norm_(context, x)), x, dropout_);
    }
    return norm_(context, DropoutAdd(context, sublayer(x), x, dropout_));
  }

 private:
  LayerNorm norm_;
  NormPlace place_ = NormPlace::kPost;
  float dropout_ = 0;
};

class EncoderLayer {
 public:
  EncoderLayer(ParameterTable& table, const std::string& name,
               const TransformerConfig& config, int layer, Mask mask);

  // x [rows, d_model], sentences divided by `offsets`, to the same shape.
  Variable operator()(Context& context, Variable x,
                      std::span<const int32_t> offsets) const;

  template <class Visit>
  void ForEachLinear(Visit visit) {
    self_.ForEachLinear(visit);
    feed_forward_.ForEachLinear(visit);
  }

 private:
  MultiHeadAttention self_;
  FeedForward feed_forward_;
  Residual self_residual_, feed_forward_residual_;
};

// The target rows of a batch and the memory they may look at.
struct DecoderInput {
  std::span<const int32_t> offsets;         // of the target sentences
  Variable memory;                          // [source rows, d_model]
  std::span<const int32_t> memory_offsets;  // of the source sentences
};

class DecoderLayer {
 public:
  DecoderLayer(ParameterTable& table, const std::string& name,
               const TransformerConfig& config, int layer);

  // Whole target sequences: x [target rows, d_model] to the same shape.
  Variable operator()(Context& context, Variable x,
                      const DecoderInput& input) const;

  // One step: x [hypotheses, d_model] to the same shape.
  Variable operator()(Context& context, Variable x, DecoderCache& cache) const;

  const MultiHeadAttention& cross() const { return cross_; }

  template <class Visit>
  void ForEachLinear(Visit visit) {
    self_.ForEachLinear(visit);
    cross_.ForEachLinear(visit);
    feed_forward_.ForEachLinear(visit);
  }

 private:
  template <class SelfSublayer, class CrossSublayer>
  Variable Run(Context& context, Variable x, SelfSublayer self,
               CrossSublayer cross) const;

  MultiHeadAttention self_, cross_;
  FeedForward feed_forward_;
  Residual self_residual_, cross_residual_, feed_forward_residual_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_LAYERS_H_
