// A corpus of ids, packed for training: all ids of a side in one tensor, and
// where each sentence begins in another. As a file it is mapped, not read; on
// a pipe it is a series of frames, each a corpus of its own.
#ifndef PIPEFORMER_FORMATS_PACKED_CORPUS_H_
#define PIPEFORMER_FORMATS_PACKED_CORPUS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_file.h"
#include "formats/tensor_view.h"
#include "lib/data/corpus.h"

namespace pipeformer {

// One side while it is made, in memory.
struct PackedIds {
  std::vector<int32_t> ids = {};
  std::vector<int64_t> offsets = {0};

  void Add(std::span<const int32_t> sentence);
  size_t num_sentences() const { return offsets.size() - 1; }
  IdBlock view() const { return {ids, offsets}; }
};

// Views of `sides`: one, of sentences, or two, source and target, of pairs.
//   vocabulary_hashes  SHA-256 in hexadecimal, one when both sides share one
// Requires: the sides have the same number of sentences, and what they view
// outlives the result.
TensorCollection PackCorpus(const std::vector<IdBlock>& sides,
                            const std::vector<std::string>& vocabulary_hashes);

// A packed corpus in the memory of its file. A sentence without ids stands
// where the record was blank or bad.
struct PackedCorpus {
  std::vector<IdBlock> sides;                  // one, or source and target
  std::vector<int32_t> largest_ids;            // of each side, -1 without ids
  std::vector<std::string> vocabulary_hashes;  // one, or source and target
};

// Checks and views `file`, which must outlive the result. Reads the ids once,
// in order, and keeps none of them in memory of its own.
// Throws Error (kBadData) when it is no packed corpus of a known version, when
// offsets do not rise from 0 to the number of ids, the sides differ in their
// number of sentences, or an id is negative.
PackedCorpus ReadPackedCorpus(const TensorFile& file);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_PACKED_CORPUS_H_
