#include "lib/nn/layers.h"

namespace pipeformer {
namespace {

Linear DeclareLinear(ParameterTable& table, const std::string& name,
                     int64_t out, int64_t in) {
  const Parameter& weight =
      table.DeclareMatrix(name + ".weight", out, in, GlorotUniform(out, in));
  return {&weight, &table.DeclareVector(name + ".bias", out, 0)};
}

AttentionConfig SelfConfig(const TransformerConfig& config, AttentionKind kind,
                           int layer, Mask mask) {
  return {.d_model = config.d_model,
          .num_heads = config.num_heads,
          .dropout = config.attention_dropout,
          .kind = kind,
          .layer = layer,
          .mask = mask};
}

}  // namespace

FeedForward::FeedForward(ParameterTable& table, const std::string& name,
                         const TransformerConfig& config)
    : up_(DeclareLinear(table, name + "linear1", config.ffn_dim,
                        config.d_model)),
      down_(DeclareLinear(table, name + "linear2", config.d_model,
                          config.ffn_dim)),
      activation_(config.activation),
      dropout_(config.ffn_dropout) {}

Variable FeedForward::operator()(Context& context, Variable x) const {
  const Variable hidden = up_(context, x);  // [rows, ffn_dim]
  return down_(context, Activate(context, hidden, activation_, dropout_));
}

EncoderLayer::EncoderLayer(ParameterTable& table, const std::string& name,
                           const TransformerConfig& config, int layer,
                           Mask mask)
    : self_(table, name + "self_attn",
            SelfConfig(config, AttentionKind::kEncoder, layer, mask)),
      feed_forward_(table, name, config),
      self_residual_(table, name + "norm1", config),
      feed_forward_residual_(table, name + "norm2", config) {}

Variable EncoderLayer::operator()(Context& context, Variable x,
                                  std::span<const int32_t> offsets) const {
  x = self_residual_(context, x, [&](Variable v) {
    return self_.SelfAttention(context, v, offsets);
  });
  return feed_forward_residual_(
      context, x, [&](Variable v) { return feed_forward_(context, v); });
}

DecoderLayer::DecoderLayer(ParameterTable& table, const std::string& name,
                           const TransformerConfig& config, int layer)
    : self_(table, name + "self_attn",
            SelfConfig(config, AttentionKind::kDecoder, layer, Mask::kCausal)),
      cross_(table, name + "multihead_attn",
             SelfConfig(config, AttentionKind::kCross, layer, Mask::kNone)),
      feed_forward_(table, name, config),
      self_residual_(table, name + "norm1", config),
      cross_residual_(table, name + "norm2", config),
      feed_forward_residual_(table, name + "norm3", config) {}

template <class SelfSublayer, class CrossSublayer>
Variable DecoderLayer::Run(Context& context, Variable x, SelfSublayer self,
                           CrossSublayer cross) const {
  x = self_residual_(context, x, self);
  x = cross_residual_(context, x, cross);
  return feed_forward_residual_(
      context, x, [&](Variable v) { return feed_forward_(context, v); });
}

Variable DecoderLayer::operator()(Context& context, Variable x,
                                  const DecoderInput& input) const {
  return Run(
      context, x,
      [&](Variable v) {
        return self_.SelfAttention(context, v, input.offsets);
      },
      [&](Variable v) {
        return cross_.CrossAttention(context, v, input.offsets, input.memory,
                                     input.memory_offsets);
      });
}

Variable DecoderLayer::operator()(Context& context, Variable x,
                                  DecoderCache& cache) const {
  return Run(
      context, x,
      [&](Variable v) { return self_.SelfAttention(context, v, cache); },
      [&](Variable v) { return cross_.CrossAttention(context, v, cache); });
}

}  // namespace pipeformer
