// The tensors that each kind of module takes, under the names of the arguments
// of PyTorch's `forward`, and the place of each in the module's input.
#ifndef PIPEFORMER_TOOLS_MODULE_SIGNATURE_H_
#define PIPEFORMER_TOOLS_MODULE_SIGNATURE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/nn/module.h"

namespace pipeformer {

// Whose positions a dimension counts (ModuleInput).
enum class Side { kTarget, kSource };

struct SequenceArgument {
  const char* name;
  Side side;
  Variable ModuleInput::*place;
  // The arguments whose values are taken where this one is not given, the first
  // that is there; none: it has to be given.
  std::vector<const char*> otherwise = {};
};

// One attention's masks, [queries, keys] and [sentences, keys].
struct MaskArguments {
  const char* attention;
  const char* padding;
  Side queries;
  Side keys;
  std::span<const SentenceMask> ModuleInput::*place;
  // Whether --is-causal is about this attention.
  enum class Order { kNone, kMayBeCausal } order;
};

struct ModuleSignature {
  std::vector<SequenceArgument> sequences;  // the first has the output's shape
  std::vector<MaskArguments> masks;
};

const ModuleSignature& SignatureOf(ModuleKind kind);

// The gradient of the output, which a record brings along.
inline constexpr char kGradOutput[] = "grad_output";

// Whether a module of this kind takes `name`, or one of any kind.
bool TakesTensor(ModuleKind kind, std::string_view name);
bool IsModuleTensor(std::string_view name);

// "query, key, ..", for messages.
std::string TensorNames(ModuleKind kind);

// The width of a sequence.
int64_t WidthOf(const SequenceArgument& argument, const ModuleConfig& config);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_SIGNATURE_H_
