// A module that PyTorch saved: the tensors of its state dictionary in a
// safetensors file. What it is, is read off their names, and its sizes off
// their shapes; README.md of this folder lists both.
#ifndef PIPEFORMER_FORMATS_MODULE_FILE_H_
#define PIPEFORMER_FORMATS_MODULE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/module_facts.h"
#include "lib/nn/module.h"

namespace pipeformer {

struct ModuleFile {
  std::unique_ptr<Module> module;  // with its values, in single precision
  bool batch_first = false;
};

// The module whose tensors begin with `prefix` in the file at `path`, with
// `dropout` on its attention weights where chance is given. Throws Error: 66
// when the file is missing; 64 when nothing says how many heads there are, or a
// fact is of another kind of module; 65
// naming the file and the tensor when the names are of no known module, a
// tensor is missing, unknown, not of floating point or of another shape (both
// are named), the heads do not divide the width, or a fact is no such value.
ModuleFile LoadModule(const std::string& path, const std::string& prefix,
                      const ModuleFacts& facts, float dropout = 0);

// The shape that PyTorch gives a parameter: [size], [rows, cols], or
// [1, 1, size] for bias_k and bias_v.
std::vector<int64_t> StateShape(const Parameter& p);

// "multi-head attention", for messages.
const char* ModuleKindName(ModuleKind kind);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MODULE_FILE_H_
