// The layers of figure 1 of Vaswani et al. 2017.
#ifndef PIPEFORMER_LIB_NN_LAYERS_H_
#define PIPEFORMER_LIB_NN_LAYERS_H_

#include <memory>
#include <optional>
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
  // Declares under `prefix` linear1 and linear2.
  FeedForward(ParameterTable& table, const std::string& prefix,
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

// What the layers of one stack share.
struct StackConfig {
  const TransformerConfig& network;
  std::shared_ptr<const AttentionPositions> positions = nullptr;
  Mask mask = Mask::kNone;  // of self-attention
};

// Self-attention and a feed-forward network.
class EncoderLayer {
 public:
  EncoderLayer(ParameterTable& table, const std::string& prefix,
               const StackConfig& config, int layer);

  // x [rows, d_model], sentences divided by `offsets`, to the same shape.
  Variable operator()(Context& context, Variable x,
                      std::span<const int32_t> offsets,
                      std::span<const SentenceMask> masks = {}) const;

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
  std::span<const int32_t> offsets;              // of the target sentences
  Variable memory = {};                          // [source rows, d_model]
  std::span<const int32_t> memory_offsets = {};  // of the source sentences
  std::span<const SentenceMask> masks = {};      // of self-attention
  std::span<const SentenceMask> memory_masks = {};
  // Where given, self-attention leaves the history of each sentence here.
  std::span<SentenceCache* const> keep = {};
};

// Self-attention, attention to the memory unless there is none (a language
// model), and a feed-forward network.
class DecoderLayer {
 public:
  DecoderLayer(ParameterTable& table, const std::string& prefix,
               const StackConfig& config, int layer);

  // Whole target sequences: x [target rows, d_model] to the same shape.
  Variable operator()(Context& context, Variable x,
                      const DecoderInput& input) const;

  // One step: x [hypotheses, d_model] to the same shape.
  Variable operator()(Context& context, Variable x, DecoderCache& cache) const;

  // Requires: the layer attends to a memory.
  const MultiHeadAttention& cross() const { return cross_->attention; }

  template <class Visit>
  void ForEachLinear(Visit visit) {
    self_.ForEachLinear(visit);
    if (cross_) cross_->attention.ForEachLinear(visit);
    feed_forward_.ForEachLinear(visit);
  }

 private:
  struct Cross {
    MultiHeadAttention attention;
    Residual residual;
  };

  template <class SelfSublayer, class CrossSublayer>
  Variable Run(Context& context, Variable x, SelfSublayer self,
               CrossSublayer cross) const;

  MultiHeadAttention self_;
  Residual self_residual_;
  std::optional<Cross> cross_;
  FeedForward feed_forward_;
  Residual feed_forward_residual_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_LAYERS_H_
