#include "lib/nn/layers.h"

namespace pipeformer {
namespace {

Linear DeclareLinear(ParameterTable& table, const std::string& name,
                     int64_t out, int64_t in) {
  const Parameter& weight =
      table.DeclareMatrix(name + ".weight", out, in, GlorotUniform(out, in));
  return {&weight, &table.DeclareVector(name + ".bias", out, 0)};
}

AttentionConfig SelfConfig(const StackConfig& config, AttentionKind kind,
                           int layer) {
  const TransformerConfig& n = config.network;
  return {.d_model = n.d_model,
          .num_heads = n.num_heads,
          .dropout = n.attention_dropout,
          .kind = kind,
          .layer = layer,
          .mask = config.mask,
          .scale = n.attention_scale,
          .window = n.attention_window,
          .positions = config.positions};
}

// Distances mean nothing between two sequences, so neither do windows.
AttentionConfig CrossConfig(const TransformerConfig& n, int layer) {
  return {.d_model = n.d_model,
          .num_heads = n.num_heads,
          .dropout = n.attention_dropout,
          .kind = AttentionKind::kCross,
          .layer = layer,
          .scale = n.attention_scale};
}

}  // namespace

FeedForward::FeedForward(ParameterTable& table, const std::string& prefix,
                         const TransformerConfig& config)
    : up_(DeclareLinear(table, prefix + "linear1", config.ffn_dim,
                        config.d_model)),
      down_(DeclareLinear(table, prefix + "linear2", config.d_model,
                          config.ffn_dim)),
      activation_(config.activation),
      dropout_(config.ffn_dropout) {}

Variable FeedForward::operator()(Context& context, Variable x) const {
  const Variable hidden = up_(context, x);  // [rows, ffn_dim]
  return down_(context, Activate(context, hidden, activation_, dropout_));
}

EncoderLayer::EncoderLayer(ParameterTable& table, const std::string& prefix,
                           const StackConfig& config, int layer)
    : self_(table, prefix + "self_attn.",
            SelfConfig(config, AttentionKind::kEncoder, layer)),
      feed_forward_(table, prefix, config.network),
      self_residual_(table, prefix + "norm1", config.network),
      feed_forward_residual_(table, prefix + "norm2", config.network) {}

Variable EncoderLayer::operator()(Context& context, Variable x,
                                  std::span<const int32_t> offsets,
                                  std::span<const SentenceMask> masks) const {
  x = self_residual_(context, x, [&](Variable v) {
    return self_(context, {v, v, v, offsets, offsets, masks});
  });
  return feed_forward_residual_(
      context, x, [&](Variable v) { return feed_forward_(context, v); });
}

DecoderLayer::DecoderLayer(ParameterTable& table, const std::string& prefix,
                           const StackConfig& config, int layer)
    : self_(table, prefix + "self_attn.",
            SelfConfig(config, AttentionKind::kDecoder, layer)) {
  // PyTorch's order: the attentions, the feed-forward network, the norms.
  const TransformerConfig& n = config.network;
  if (!n.is_language_model()) {
    cross_.emplace();
    cross_->attention = MultiHeadAttention(table, prefix + "multihead_attn.",
                                           CrossConfig(n, layer));
  }
  feed_forward_ = FeedForward(table, prefix, n);
  self_residual_ = Residual(table, prefix + "norm1", n);
  if (cross_) cross_->residual = Residual(table, prefix + "norm2", n);
  feed_forward_residual_ =
      Residual(table, prefix + (cross_ ? "norm3" : "norm2"), n);
}

template <class SelfSublayer, class CrossSublayer>
Variable DecoderLayer::Run(Context& context, Variable x, SelfSublayer self,
                           CrossSublayer cross) const {
  x = self_residual_(context, x, self);
  if (cross_) x = cross_->residual(context, x, cross);
  return feed_forward_residual_(
      context, x, [&](Variable v) { return feed_forward_(context, v); });
}

Variable DecoderLayer::operator()(Context& context, Variable x,
                                  const DecoderInput& in) const {
  return Run(
      context, x,
      [&](Variable v) {
        return self_(context, {.query = v,
                               .key = v,
                               .value = v,
                               .query_offsets = in.offsets,
                               .key_offsets = in.offsets,
                               .masks = in.masks,
                               .keep = in.keep});
      },
      [&](Variable v) {
        return cross()(context, {.query = v,
                                 .key = in.memory,
                                 .value = in.memory,
                                 .query_offsets = in.offsets,
                                 .key_offsets = in.memory_offsets,
                                 .masks = in.memory_masks});
      });
}

Variable DecoderLayer::operator()(Context& context, Variable x,
                                  DecoderCache& cache) const {
  return Run(
      context, x, [&](Variable v) { return self_.SelfStep(context, v, cache); },
      [&](Variable v) { return cross().CrossStep(context, v, cache); });
}

}  // namespace pipeformer
