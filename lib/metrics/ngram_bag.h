// Counting n-grams without making strings of them. Words (or characters) are
// numbers; the n-grams of the references form a trie whose edges live in one
// hash table, compared exactly; the hypothesis walks it and takes out what it
// finds. The taking is what clips a count.
#ifndef PIPEFORMER_LIB_METRICS_NGRAM_BAG_H_
#define PIPEFORMER_LIB_METRICS_NGRAM_BAG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pipeformer {

// Numbers for words: equal words, equal numbers, counted from 0. Keep one for
// each thread and `Clear` it for each segment; its memory is used again.
class WordTable {
 public:
  WordTable();

  void Clear();

  // The number of `word`, which must stay alive until Clear.
  uint32_t Number(std::u32string_view word);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t generation = 0;
    uint32_t number = 0;
  };

  void Grow();

  std::vector<Slot> slots_;
  std::vector<std::u32string_view> words_;
  uint32_t generation_ = 1;
};

// The n-grams, n = 1..max_order, of one segment's references.
class NgramBag {
 public:
  // Requires: max_order > 0.
  explicit NgramBag(size_t max_order);

  void Clear();

  // Puts in the n-grams of one reference. An n-gram that several references
  // have is in the bag as often as in the reference that has it most.
  void AddReference(std::span<const uint32_t> symbols);

  // Takes every n-gram of `symbols` out of the bag, once for each time that
  // it occurs, as long as the bag has it.
  //   matches  [max_order], how many n-grams of each order were taken
  void TakeMatches(std::span<const uint32_t> symbols,
                   std::span<double> matches);

 private:
  // An edge of the trie: (node before << 32 | symbol) leads to `node`.
  struct Slot {
    uint64_t edge = 0;
    uint32_t generation = 0;
    uint32_t node = 0;
  };
  struct Node {
    uint32_t reference = 0;  // The last reference that had it,
    uint32_t count = 0;      // and how often that one had it.
    uint32_t available = 0;  // How often the bag still has it.
  };

  // The slot of `edge`, or the free one where it belongs.
  Slot& Find(uint64_t edge);
  void Reserve(size_t num_edges);

  size_t max_order_;
  std::vector<Slot> slots_;
  std::vector<Node> nodes_;  // nodes_[0] is the root, the empty n-gram.
  uint32_t generation_ = 1;
  uint32_t reference_ = 0;
};

// How many n-grams of the given order a text of `length` symbols has.
inline size_t NumNgrams(size_t length, size_t order) {
  return length >= order ? length - order + 1 : 0;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_NGRAM_BAG_H_
