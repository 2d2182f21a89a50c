// Unsigned numbers as little-endian bytes, wherever the bytes lie.
#ifndef PIPEFORMER_FORMATS_LITTLE_ENDIAN_H_
#define PIPEFORMER_FORMATS_LITTLE_ENDIAN_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeformer {

// The number in the first sizeof(T) bytes. Requires: `bytes` has that many.
template <class T>
T LoadLittleEndian(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i]))
                            << (8 * i));
  }
  return value;
}

template <class T>
void AppendLittleEndian(T value, std::string& bytes) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_LITTLE_ENDIAN_H_
