// What the tensors of a saved module do not tell about it.
#ifndef PIPEFORMER_FORMATS_MODULE_FACTS_H_
#define PIPEFORMER_FORMATS_MODULE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "formats/tensor_file.h"
#include "lib/ops/activation.h"

namespace pipeformer {

// What is not set is taken from the file (CompleteFacts), else PyTorch's
// default holds.
struct ModuleFacts {
  std::optional<int64_t> num_heads = {};       // has no default
  std::optional<bool> add_zero_attn = {};      // false; an attention's
  std::optional<std::string> activation = {};  // relu, gelu or swish; a layer's
  std::optional<bool> norm_first = {};         // false; a layer's
  std::optional<bool> batch_first = {};        // false
};

// `facts`, with what is not set there taken from the file: from its metadata of
// the same names, or from the configuration of a model that `train` wrote.
// Throws Error (65) naming the file when a value is none, or when the model's
// attention is not that of any module.
ModuleFacts CompleteFacts(const TensorFile& file, ModuleFacts facts);

// The activation of a layer. Throws Error (65) naming the file.
Activation ActivationOf(const TensorFile& file, const ModuleFacts& facts);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MODULE_FACTS_H_
