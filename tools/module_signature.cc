#include "tools/module_signature.h"

#include <algorithm>

namespace pipeformer {
namespace {

using In = ModuleInput;
using Order = MaskArguments::Order;

const MaskArguments kSourceMasks = {"src_mask",        "src_key_padding_mask",
                                    Side::kSource,     Side::kSource,
                                    &In::source_masks, Order::kNone};
const MaskArguments kTargetMasks = {"tgt_mask",        "tgt_key_padding_mask",
                                    Side::kTarget,     Side::kTarget,
                                    &In::target_masks, Order::kMayBeCausal};
const MaskArguments kMemoryMasks = {"memory_mask",    "memory_key_padding_mask",
                                    Side::kTarget,    Side::kSource,
                                    &In::cross_masks, Order::kNone};

ModuleSignature AttentionSignature() {
  return {.sequences = {{"query", Side::kTarget, &In::target},
                        {"key", Side::kSource, &In::source, {"query"}},
                        {"value", Side::kSource, &In::value, {"key", "query"}}},
          .masks = {{"attn_mask", "key_padding_mask", Side::kTarget,
                     Side::kSource, &In::cross_masks, Order::kMayBeCausal}}};
}

ModuleSignature EncoderLayerSignature() {
  ModuleSignature signature{.sequences = {{"src", Side::kSource, &In::source}},
                            .masks = {kSourceMasks}};
  signature.masks[0].order = Order::kMayBeCausal;
  return signature;
}

template <class Visit>
bool AnyName(ModuleKind kind, Visit visit) {
  const ModuleSignature& s = SignatureOf(kind);
  return std::any_of(s.sequences.begin(), s.sequences.end(),
                     [&](const auto& a) { return visit(a.name); }) ||
         std::any_of(s.masks.begin(), s.masks.end(),
                     [&](const auto& a) {
                       return visit(a.attention) || visit(a.padding);
                     }) ||
         visit(kGradOutput);
}

}  // namespace

const ModuleSignature& SignatureOf(ModuleKind kind) {
  static const ModuleSignature kAttention = AttentionSignature();
  static const ModuleSignature kEncoderLayer = EncoderLayerSignature();
  static const ModuleSignature kDecoderLayer = {
      .sequences = {{"tgt", Side::kTarget, &In::target},
                    {"memory", Side::kSource, &In::source}},
      .masks = {kTargetMasks, kMemoryMasks}};
  static const ModuleSignature kTransformer = {
      .sequences = {{"tgt", Side::kTarget, &In::target},
                    {"src", Side::kSource, &In::source}},
      .masks = {kSourceMasks, kTargetMasks, kMemoryMasks}};
  switch (kind) {
    case ModuleKind::kAttention:
      return kAttention;
    case ModuleKind::kEncoderLayer:
      return kEncoderLayer;
    case ModuleKind::kDecoderLayer:
      return kDecoderLayer;
    case ModuleKind::kTransformer:
      break;
  }
  return kTransformer;
}

bool TakesTensor(ModuleKind kind, std::string_view name) {
  return AnyName(kind, [&](const char* known) { return name == known; });
}

bool IsModuleTensor(std::string_view name) {
  return TakesTensor(ModuleKind::kAttention, name) ||
         TakesTensor(ModuleKind::kEncoderLayer, name) ||
         TakesTensor(ModuleKind::kDecoderLayer, name) ||
         TakesTensor(ModuleKind::kTransformer, name);
}

std::string TensorNames(ModuleKind kind) {
  std::string names;
  AnyName(kind, [&](const char* name) {
    names += (names.empty() ? "" : ", ") + std::string(name);
    return false;
  });
  return names;
}

int64_t WidthOf(const SequenceArgument& argument, const ModuleConfig& config) {
  const AttentionConfig& a = config.attention;
  if (config.is_attention() && argument.place == &In::source && a.key_dim > 0) {
    return a.key_dim;
  }
  if (config.is_attention() && argument.place == &In::value &&
      a.value_dim > 0) {
    return a.value_dim;
  }
  return config.d_model();
}

}  // namespace pipeformer
