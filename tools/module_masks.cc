#include "tools/module_masks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

bool ModuleMasks::HasGradient(const TensorView& mask) {
  return mask.dtype == DType::kF32 || mask.dtype == DType::kF64 ||
         mask.dtype == DType::kF16 || mask.dtype == DType::kBF16;
}

std::vector<float> MaskValues(const TensorView& mask, const std::string& name) {
  if (mask.dtype == DType::kBool || mask.dtype == DType::kU8) {
    std::vector<float> values(mask.NumElements());
    std::ranges::transform(mask.bytes, values.begin(), [](std::byte b) {
      return b == std::byte{0} ? 0 : -kInfinity;
    });
    return values;
  }
  if (!ModuleMasks::HasGradient(mask)) {
    ThrowBadData(name + " is " + std::string(DTypeName(mask.dtype)) +
                 "; a mask is BOOL, U8 or of floating point");
  }
  std::vector<float> values = ToFloats(mask, name);
  for (const float v : values) {
    if (v < kInfinity) continue;  // not so for NaN
    ThrowBadData(name + " holds " + (std::isnan(v) ? "NaN" : "+infinity") +
                 "; what is added to a score is a number, or -infinity to "
                 "hide the key");
  }
  return values;
}

void ModuleMasks::Read(const MaskArguments& argument, Causal causal,
                       ModuleLayout& layout, ModuleInput& input) {
  const TensorView* attention = record_.Find(argument.attention);
  const TensorView* padding = record_.Find(argument.padding);
  if (attention == nullptr && padding == nullptr && causal == Causal::kNo) {
    return;
  }
  const bool of_heads = attention != nullptr && attention->shape.size() == 3;
  Dimension& queries = layout.length(argument.queries);
  Dimension& keys = layout.length(argument.keys);
  PaddedMasks& masks = masks_.emplace_back(
      PaddedMasks::Shape{.sentences = layout.sentences(),
                         .heads = of_heads ? config_.num_heads() : 1,
                         .queries = queries.size,
                         .keys = keys.size,
                         .extra_keys = config_.attention.extra_keys()});
  if (attention != nullptr) {
    Dimension matrices{"", layout.sentences() * config_.num_heads()};
    FitShape(argument.attention, attention->shape,
             of_heads ? Dimensions{&matrices, &queries, &keys}
                      : Dimensions{&queries, &keys});
    Add({argument.attention, attention, &masks,
         of_heads ? masks.OfHeads() : masks.Shared()});
  }
  if (padding != nullptr) {
    FitShape(argument.padding, padding->shape, layout.OfPadding(argument.keys));
    Add({argument.padding, padding, &masks, masks.OfPadding()});
  }
  if (causal == Causal::kYes) masks.AddCausal();
  input.*argument.place = masks.sentences();
}

void ModuleMasks::Add(const Added& added) {
  added.masks->Add(MaskValues(*added.tensor, added.name), added.strides);
  added_.push_back(added);
}

void ModuleMasks::WantGradients() {
  for (const Added& a : added_) {
    if (HasGradient(*a.tensor)) a.masks->WantGradient();
  }
}

}  // namespace pipeformer
