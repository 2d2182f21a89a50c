// The masks of a record: tensors of any of PyTorch's kinds, checked, added up
// for each attention of a module, and their gradients.
#ifndef PIPEFORMER_TOOLS_MODULE_MASKS_H_
#define PIPEFORMER_TOOLS_MODULE_MASKS_H_

#include <deque>
#include <string>
#include <vector>

#include "formats/tensor_view.h"
#include "lib/nn/module.h"
#include "lib/nn/padded_masks.h"
#include "tools/module_layout.h"
#include "tools/module_signature.h"

namespace pipeformer {

// What `mask` adds to the scores: of BOOL and U8 minus infinity where it is not
// zero. Throws Error (65) beginning with `name` on another type that is not of
// floating point, and on NaN and infinity.
std::vector<float> MaskValues(const TensorView& mask, const std::string& name);

// Used for one record.
class ModuleMasks {
 public:
  ModuleMasks(const TensorCollection& record, const ModuleConfig& config)
      : record_(record), config_(config) {}

  enum class Causal { kNo, kYes };

  // Whether it is of floating point.
  static bool HasGradient(const TensorView& mask);

  // Adds up the masks that the record has for one attention, and a causal one
  // where wanted, and points `input` to them. Throws Error (65).
  // Requires: `layout` knows the sequences' sizes; this outlives the use of
  // `input`.
  void Read(const MaskArguments& argument, Causal causal, ModuleLayout& layout,
            ModuleInput& input);

  // Masks of floating point get gradients. Requires: all masks are read.
  void WantGradients();

  // visit(name, gradient) for each mask of floating point.
  // Requires: WantGradients, then a backward pass.
  template <class Visit>
  void ForEachGradient(Visit visit) const {
    for (const Added& a : added_) {
      if (!HasGradient(*a.tensor)) continue;
      std::vector<float> d_mask(a.tensor->NumElements());
      a.masks->AddGradient(a.strides, d_mask);
      visit(a.name, FloatTensor(a.tensor->shape, d_mask));
    }
  }

 private:
  // A tensor as it was added.
  struct Added {
    const char* name;
    const TensorView* tensor;
    PaddedMasks* masks;
    MaskStrides strides;
  };

  void Add(const Added& added);

  const TensorCollection& record_;
  const ModuleConfig& config_;
  std::deque<PaddedMasks> masks_;
  std::vector<Added> added_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_MASKS_H_
