// Pieces that would repeat what a hypothesis has already said.
#ifndef PIPEFORMER_LIB_SEARCH_REPETITION_H_
#define PIPEFORMER_LIB_SEARCH_REPETITION_H_

#include <algorithm>
#include <cstdint>
#include <span>

namespace pipeformer {

// Calls ban(id) for every piece that would complete, after `ids`, a sequence
// of `size` pieces that `ids` already has. Does nothing for size 0.
// Source: Paulus et al. 2018, section 2.5.
template <class Ban>
void ForEachRepeat(std::span<const int32_t> ids, int64_t size, Ban ban) {
  const auto before = static_cast<size_t>(std::max<int64_t>(size, 1)) - 1;
  if (size == 0 || ids.size() < before) return;
  const auto last = ids.last(before);
  for (size_t end = before; end < ids.size(); ++end) {
    const auto earlier = ids.subspan(end - before, before);
    if (std::equal(last.begin(), last.end(), earlier.begin())) ban(ids[end]);
  }
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_REPETITION_H_
