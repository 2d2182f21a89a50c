// The JSON header of a safetensors file, read strictly: every tensor has
// exactly `dtype`, `shape` and `data_offsets`, no key occurs twice, and
// `__metadata__` maps strings to strings. Used by safetensors.cc alone.
#ifndef PIPEFORMER_FORMATS_SAFETENSORS_HEADER_H_
#define PIPEFORMER_FORMATS_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_view.h"

namespace pipeformer {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

// Parses the header's text, spaces after it included. Nesting is bounded, so
// no input exhausts the stack. Throws bad data that begins with `source_name`
// and names the tensor and the field.
SafetensorsHeader ParseSafetensorsHeader(std::string_view text,
                                         std::string_view source_name);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_SAFETENSORS_HEADER_H_
