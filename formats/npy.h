// NumPy's .npy files: one array, its type and shape in a Python literal.
// Source: NEP 1 and numpy.lib.format, versions 1.0, 2.0 and 3.0.
#ifndef PIPEFORMER_FORMATS_NPY_H_
#define PIPEFORMER_FORMATS_NPY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "formats/tensor_view.h"

namespace pipeformer {

// Reads a whole .npy file from `bytes`. Column-major arrays are brought into
// row-major order, big-endian numbers into little-endian. Throws bad data
// beginning with `source_name` for a damaged header, a type that safetensors
// does not know (objects, complex numbers, text, records), an array that is
// shorter or longer than the bytes that follow.
OwnedTensor ParseNpy(std::span<const std::byte> bytes,
                     std::string_view source_name);

// The .npy file of `tensor`: version 1.0, row-major, the data at a multiple
// of 64 bytes; the bytes depend on nothing else, least of all on the locale.
// Throws bad data beginning with `name` for BF16, which NumPy does not have.
std::string SerializeNpy(const TensorView& tensor, std::string_view name);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_NPY_H_
