// A batch without padding: the pieces of all sentences, one after another, and
// the special pieces around them.
#ifndef PIPEFORMER_LIB_NN_RAGGED_H_
#define PIPEFORMER_LIB_NN_RAGGED_H_

#include <cstdint>
#include <span>
#include <vector>

namespace pipeformer {

// The pieces that begin a target, end it, and end a source.
struct Boundary {
  int32_t bos = 1;
  int32_t eos = 2;
  int32_t source_eos = 2;
};

// Sentence s has rows offsets[s] up to offsets[s + 1].
//   ids  [rows];  offsets  [sentences + 1], offsets[0] == 0
struct Ragged {
  std::span<const int32_t> ids;
  std::span<const int32_t> offsets;

  int64_t rows() const { return static_cast<int64_t>(ids.size()); }
  int64_t sentences() const { return static_cast<int64_t>(offsets.size()) - 1; }
};

// The memory behind a Ragged.
struct RaggedIds {
  std::vector<int32_t> ids;
  std::vector<int32_t> offsets{0};

  void Clear() {
    ids.clear();
    offsets.assign(1, 0);
  }

  // Adds one sentence: `before`, the pieces, `after`; -1 adds nothing.
  void Append(int32_t before, std::span<const int32_t> pieces, int32_t after) {
    if (before >= 0) ids.push_back(before);
    ids.insert(ids.end(), pieces.begin(), pieces.end());
    if (after >= 0) ids.push_back(after);
    offsets.push_back(static_cast<int32_t>(ids.size()));
  }

  Ragged view() const { return {ids, offsets}; }
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_RAGGED_H_
