// One record through a module: tensors laid out as PyTorch's `forward` takes
// them become the sentences of a ragged batch, and the results tensors again.
#ifndef PIPEFORMER_TOOLS_MODULE_CALL_H_
#define PIPEFORMER_TOOLS_MODULE_CALL_H_

#include <string>
#include <vector>

#include "formats/tensor_view.h"
#include "lib/base/random.h"
#include "lib/nn/module.h"
#include "tools/module_layout.h"

namespace pipeformer {

enum class NeedWeights { kAverage, kHeads, kNone };

// How `forward` is called.
struct ModuleCall {
  BatchAxis batch_axis = BatchAxis::kSecond;
  bool is_causal = false;  // no query sees a key after its own place
  bool gradients = false;  // of everything, for the record's grad_output
  NeedWeights need_weights = NeedWeights::kAverage;
};

struct NamedResult {
  std::string name;
  OwnedTensor tensor;  // F32
};

// Runs `module` on `record`, whose tensors have the names of module_signature.h
// and are
//   sequences      [L, N, E] or unbatched [L, E]; of floating point
//   attention mask [L, S] or [N * num_heads, L, S]
//   padding mask   [N, S] or unbatched [S]
// where a mask's BOOL true or U8 non-zero hides a key, and floating point is
// added to the scores. Gives `output`, of an attention `weights` ([N, L, S], or
// [N, num_heads, L, S], before dropout; extra keys follow the S), and with
// gradients `grad_` and the name of each sequence, floating-point mask and
// parameter. Dropout takes its chance from `random`; null: none.
// Throws Error (65) without a place on a missing or unknown tensor, and on one
// of the wrong type or shape, naming both shapes.
std::vector<NamedResult> CallModule(const Module& module,
                                    const ModuleCall& call,
                                    const TensorCollection& record,
                                    const Random* random);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_CALL_H_
