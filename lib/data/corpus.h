// Sentence pairs as piece ids, without special pieces: what training reads.
// The ids lie in memory or in mapped files; a corpus only points at them.
#ifndef PIPEFORMER_LIB_DATA_CORPUS_H_
#define PIPEFORMER_LIB_DATA_CORPUS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/base/link.h"

namespace pipeformer {

// Sentences that lie together: number n has ids offsets[n] up to
// offsets[n + 1]; offsets[0] == 0.
struct IdBlock {
  std::span<const int32_t> ids;
  std::span<const int64_t> offsets;  // [sentences + 1]

  int64_t size() const { return static_cast<int64_t>(offsets.size()) - 1; }
  std::span<const int32_t> operator[](int64_t n) const {
    const auto at = static_cast<size_t>(n);
    return ids.subspan(static_cast<size_t>(offsets[at]),
                       static_cast<size_t>(offsets[at + 1] - offsets[at]));
  }
};

// Most sentences of a list: their numbers have four bytes.
inline constexpr int64_t kMaxSentences = (int64_t{1} << 32) - 1;

// The sentences of some blocks, one after another, or of these those that are
// kept. What a list points at outlives it.
class IdList {
 public:
  IdList() = default;
  // One block.
  IdList(std::span<const int32_t> ids, std::span<const int64_t> offsets)
      : IdList({IdBlock{ids, offsets}}) {}
  //   kept  the numbers of the sentences kept, counted over all blocks; all
  //         where it is not given
  // Requires: the blocks have at most kMaxSentences.
  explicit IdList(std::vector<IdBlock> blocks,
                  std::optional<std::span<const uint32_t>> kept = {})
      : blocks_(std::move(blocks)), kept_(kept) {
    for (const IdBlock& block : blocks_) {
      firsts_.push_back(total_);
      total_ += block.size();
    }
  }

  // Sentences without ids: the sources of a language model of sentences.
  static IdList OfEmpty(int64_t size) {
    IdList list;
    list.total_ = size;
    return list;
  }

  int64_t size() const {
    return kept_ ? static_cast<int64_t>(kept_->size()) : total_;
  }

  std::span<const int32_t> operator[](int64_t s) const {
    if (blocks_.empty()) return {};
    const int64_t n = kept_ ? (*kept_)[static_cast<size_t>(s)] : s;
    size_t block = 0;
    if (blocks_.size() > 1) {
      const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), n);
      block = static_cast<size_t>(after - firsts_.begin()) - 1;
    }
    return blocks_[block][n - firsts_[block]];
  }

 private:
  std::vector<IdBlock> blocks_;
  std::vector<int64_t> firsts_;  // the number of each block's first sentence
  std::optional<std::span<const uint32_t>> kept_;
  int64_t total_ = 0;
};

// Pair s is source[s], target[s]. Requires: both have the same size.
struct PairCorpus {
  IdList source;
  IdList target;
  // How often each pair counts, positive; none: once.
  std::span<const float> weights = {};
  // The links between the pieces of each pair: pair s has links
  // link_offsets[s] up to link_offsets[s + 1]. Without offsets: no alignment.
  std::span<const Link> links = {};
  std::span<const int64_t> link_offsets = {};

  int64_t size() const { return source.size(); }
  float WeightOf(int64_t s) const {
    return weights.empty() ? 1 : weights[static_cast<size_t>(s)];
  }
  bool is_aligned() const { return !link_offsets.empty(); }
  // Requires: is_aligned().
  std::span<const Link> LinksOf(int64_t s) const {
    const auto at = static_cast<size_t>(s);
    return links.subspan(
        static_cast<size_t>(link_offsets[at]),
        static_cast<size_t>(link_offsets[at + 1] - link_offsets[at]));
  }
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_DATA_CORPUS_H_
