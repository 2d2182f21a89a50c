// safetensors bytes: eight bytes of header length, a JSON header, the tensors
// one after another. Use TensorFile (tensor_file.h) for files; these functions
// work on memory and serve it, tensor streams and tests.
// Source: the format's own rules, as README.md of this folder restates them.
#ifndef PIPEFORMER_FORMATS_SAFETENSORS_H_
#define PIPEFORMER_FORMATS_SAFETENSORS_H_

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "formats/tensor_view.h"

namespace pipeformer {

// The format's own limit on the JSON header.
inline constexpr size_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Reads a whole safetensors file from `bytes`. The views point into `bytes`,
// in the order of their data, and may be unaligned. Throws bad data beginning
// with `source_name` for anything that is not exactly a safetensors file:
//   - the header is longer than the limit or the file, does not begin with
//     '{', is not JSON in UTF-8, repeats a name or holds an unknown type
//   - a shape overflows or disagrees with its data_offsets
//   - the data overlap, leave a hole, go beyond the file or do not fill it
TensorCollection ParseSafetensors(std::span<const std::byte> bytes,
                                  std::string_view source_name);

// Everything before the data: the length and the header, padded with spaces
// so that the data begin at a multiple of 64 bytes.
// Requires: names are UTF-8 without NUL, differ, and are not `__metadata__`;
// each tensor has the bytes its shape asks for.
std::string SafetensorsPreamble(const TensorCollection& collection);

// Writes the preamble, then the tensors in the order given; the same
// collection gives the same bytes, and so does one that was read back.
// Tensors lie close together, so each is aligned for its type only where all
// before it end on such a boundary: see SortForAlignment.
void WriteSafetensors(const TensorCollection& collection, std::ostream& out);

// The same, as bytes.
std::string SerializeSafetensors(const TensorCollection& collection);

// Bytes that WriteSafetensors would write.
size_t SafetensorsBytes(const TensorCollection& collection);

// Puts types with larger elements first and keeps the order otherwise, so
// that every tensor of the written file can be used where it is mapped.
void SortForAlignment(TensorCollection& collection);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_SAFETENSORS_H_
