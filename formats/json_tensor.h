// Tensors as JSON: nested lists, the outermost dimension first.
#ifndef PIPEFORMER_FORMATS_JSON_TENSOR_H_
#define PIPEFORMER_FORMATS_JSON_TENSOR_H_

#include <string>

#include "formats/records.h"
#include "formats/tensor_view.h"

namespace pipeformer {

// The tensor that `lists` are: BOOL where all elements are true or false, F32
// where all are numbers or the strings "Infinity", "-Infinity", "NaN", which
// JSON has no numbers for. Throws Error (65) beginning with `name` and the
// place in it, `name[2][0]`, for anything else and for lists of unequal length.
OwnedTensor TensorFromJson(const Json& lists, const std::string& name);

// Appends `tensor` as nested lists of numbers; NaN and infinity become null.
// Requires: F32.
void AppendTensorJson(const TensorView& tensor, std::string& text);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_JSON_TENSOR_H_
