// A packed corpus that `train` learns from where it lies: nothing of the ids
// is copied, so it may be larger than memory.
#ifndef PIPEFORMER_TOOLS_PACKED_PAIRS_H_
#define PIPEFORMER_TOOLS_PACKED_PAIRS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/packed_corpus.h"
#include "formats/tensor_file.h"
#include "lib/data/corpus.h"

namespace pipeformer {

// Files are one corpus in their order. Memory: none for the ids and offsets of
// files, which are mapped; four bytes for each pair kept where any is left
// out. Frames of a stream (`-`) are held.
class PackedPairs {
 public:
  PackedPairs(TrainedOn units, const VocabularyPair& vocabularies)
      : units_(units), vocabularies_(vocabularies) {}

  // Opens one file more, or reads standard input to its end. Throws Error (65,
  // 66) where it is damaged, is missing, holds pairs where sentences are
  // wanted or the reverse, or was packed with another vocabulary.
  void Open(const std::string& file);

  // All records, blank ones too. Of sentences every source is empty.
  PairCorpus all() const { return List({}); }

  // Leaves out every record for which `keeps(source, target)` is false, which
  // is asked once, in order.
  using Ids = std::span<const int32_t>;
  void Keep(const std::function<bool(Ids source, Ids target)>& keeps);

  // Memory held beside the files.
  size_t bytes() const {
    return kept_ ? kept_->size() * sizeof(kept_->front()) : 0;
  }

  // What is kept.
  PairCorpus corpus() const { return List(kept_); }

 private:
  PairCorpus List(const std::optional<std::vector<uint32_t>>& kept) const;
  void Add(TensorFile file);

  TrainedOn units_;
  const VocabularyPair& vocabularies_;
  std::vector<TensorFile> files_;  // what the blocks point into
  std::vector<IdBlock> sources_, targets_;
  int64_t size_ = 0;
  std::optional<std::vector<uint32_t>> kept_;  // empty: all
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_PACKED_PAIRS_H_
