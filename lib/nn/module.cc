#include "lib/nn/module.h"

namespace pipeformer {
namespace {

Variable Run(Context& context, const MultiHeadAttention& attention,
             const ModuleInput& in) {
  return attention(context, {.query = in.target,
                             .key = in.source,
                             .value = in.value,
                             .query_offsets = in.target_offsets,
                             .key_offsets = in.source_offsets,
                             .masks = in.cross_masks});
}

Variable Run(Context& context, const EncoderLayer& layer,
             const ModuleInput& in) {
  return layer(context, in.source, in.source_offsets, in.source_masks);
}

DecoderInput DecoderInputOf(const ModuleInput& in, Variable memory) {
  return {.offsets = in.target_offsets,
          .memory = memory,
          .memory_offsets = in.source_offsets,
          .masks = in.target_masks,
          .memory_masks = in.cross_masks};
}

Variable Run(Context& context, const DecoderLayer& layer,
             const ModuleInput& in) {
  return layer(context, in.target, DecoderInputOf(in, in.source));
}

Variable Run(Context& context, const TransformerStacks& stacks,
             const ModuleInput& in) {
  const Variable memory =
      stacks.Encode(context, in.source, in.source_offsets, in.source_masks);
  return stacks.Decode(context, in.target, DecoderInputOf(in, memory));
}

}  // namespace

Module::Part Module::MakePart(ParameterTable& table,
                              const ModuleConfig& config) {
  TransformerConfig network = config.network;
  network.decoder_mask = Mask::kNone;
  const StackConfig stack{.network = network};
  switch (config.kind) {
    case ModuleKind::kAttention:
      return MultiHeadAttention(table, "", config.attention);
    case ModuleKind::kEncoderLayer:
      return EncoderLayer(table, "", stack, 0);
    case ModuleKind::kDecoderLayer:
      return DecoderLayer(table, "", stack, 0);
    case ModuleKind::kTransformer:
      break;
  }
  return TransformerStacks(table, network);
}

Module::Module(const ModuleConfig& config)
    : config_(config), part_(MakePart(parameters_, config)) {}

Variable Module::operator()(Context& context, const ModuleInput& input) const {
  return std::visit([&](const auto& part) { return Run(context, part, input); },
                    part_);
}

}  // namespace pipeformer
