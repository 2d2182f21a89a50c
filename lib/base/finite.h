// Whether numbers are numbers.
#ifndef PIPEFORMER_LIB_BASE_FINITE_H_
#define PIPEFORMER_LIB_BASE_FINITE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace pipeformer {

// True when no value is infinite or NaN. Looks at the bits, whose order
// without the sign is that of the magnitudes, so that it runs as fast as
// memory gives them.
inline bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kInfinity = 0x7f800000u;
  uint32_t largest = 0;
  for (const float v : values) {
    largest = std::max(largest, std::bit_cast<uint32_t>(v) & 0x7fffffffu);
  }
  return largest < kInfinity;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_FINITE_H_
