// Sentence pairs as piece ids, without special pieces: what training reads.
// The ids lie in memory or in a mapped file; a corpus only points at them.
#ifndef PIPEFORMER_LIB_DATA_CORPUS_H_
#define PIPEFORMER_LIB_DATA_CORPUS_H_

#include <cstdint>
#include <span>

namespace pipeformer {

// Sentence s has ids offsets[s] up to offsets[s + 1]; offsets[0] == 0.
struct IdList {
  std::span<const int32_t> ids;
  std::span<const int64_t> offsets;  // [sentences + 1]

  int64_t size() const { return static_cast<int64_t>(offsets.size()) - 1; }
  std::span<const int32_t> operator[](int64_t s) const {
    const auto at = static_cast<size_t>(s);
    return ids.subspan(static_cast<size_t>(offsets[at]),
                       static_cast<size_t>(offsets[at + 1] - offsets[at]));
  }
};

// Pair s is source[s], target[s]. Requires: both have the same size.
struct PairCorpus {
  IdList source;
  IdList target;

  int64_t size() const { return source.size(); }
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_DATA_CORPUS_H_
