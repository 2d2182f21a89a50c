// A link of a word alignment: which position of the source belongs to which of
// the target, both counted from 0. Positions are words or pieces, as whoever
// uses it says.
#ifndef PIPEFORMER_LIB_BASE_LINK_H_
#define PIPEFORMER_LIB_BASE_LINK_H_

#include <compare>
#include <cstdint>

namespace pipeformer {

// Ordered by target, then source.
struct Link {
  int32_t source = 0;
  int32_t target = 0;

  bool operator==(const Link&) const = default;
  auto operator<=>(const Link& other) const {
    if (target != other.target) return target <=> other.target;
    return source <=> other.source;
  }
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_LINK_H_
