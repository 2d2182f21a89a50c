#include "lib/metrics/ngram_bag.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr size_t kInitialSlots = 256;
constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;

// Spreads `key` over the slots of a table whose size is a power of two
// (multiplicative hashing, Knuth volume 3, 6.4).
size_t HomeSlot(uint64_t key, size_t num_slots) {
  key ^= key >> 32;
  return (key * kMultiplier) >> (64 - std::countr_zero(num_slots));
}

uint64_t HashWord(std::u32string_view word) {
  uint64_t hash = word.size();
  for (const char32_t c : word) {
    hash = (std::rotl(hash, 5) ^ c) * kMultiplier;
  }
  return hash;
}

}  // namespace

WordTable::WordTable() : slots_(kInitialSlots) {}

void WordTable::Clear() {
  words_.clear();
  if (++generation_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }
}

uint32_t WordTable::Number(std::u32string_view word) {
  if (2 * (words_.size() + 1) > slots_.size()) Grow();
  const uint64_t hash = HashWord(word);
  size_t at = HomeSlot(hash, slots_.size());
  while (slots_[at].generation == generation_) {
    if (slots_[at].hash == hash && words_[slots_[at].number] == word) {
      return slots_[at].number;
    }
    at = (at + 1) & (slots_.size() - 1);
  }
  const auto number = static_cast<uint32_t>(words_.size());
  slots_[at] = {hash, generation_, number};
  words_.push_back(word);
  return number;
}

void WordTable::Grow() {
  const std::vector<Slot> old =
      std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    size_t at = HomeSlot(slot.hash, slots_.size());
    while (slots_[at].generation == generation_) {
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = slot;
  }
}

NgramBag::NgramBag(size_t max_order)
    : max_order_(max_order), slots_(kInitialSlots), nodes_(1) {
  Check(max_order > 0, "n-grams have at least one symbol");
}

void NgramBag::Clear() {
  nodes_.resize(1);
  reference_ = 0;
  if (++generation_ == 0) {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    generation_ = 1;
  }
}

NgramBag::Slot& NgramBag::Find(uint64_t edge) {
  size_t at = HomeSlot(edge, slots_.size());
  while (slots_[at].generation == generation_ && slots_[at].edge != edge) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at];
}

void NgramBag::Reserve(size_t num_edges) {
  size_t size = slots_.size();
  while (size < num_edges + num_edges / 2) size *= 2;
  if (size == slots_.size()) return;
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(size));
  for (const Slot& slot : old) {
    if (slot.generation == generation_) Find(slot.edge) = slot;
  }
}

void NgramBag::AddReference(std::span<const uint32_t> symbols) {
  Reserve(nodes_.size() + symbols.size() * max_order_);
  ++reference_;
  for (size_t begin = 0; begin < symbols.size(); ++begin) {
    const size_t end = std::min(begin + max_order_, symbols.size());
    uint64_t node = 0;
    for (size_t i = begin; i < end; ++i) {
      Slot& slot = Find(node << 32 | symbols[i]);
      if (slot.generation != generation_) {
        slot = {node << 32 | symbols[i], generation_,
                static_cast<uint32_t>(nodes_.size())};
        nodes_.emplace_back();
      }
      node = slot.node;
      Node& ngram = nodes_[node];
      if (ngram.reference != reference_) {
        ngram.reference = reference_;
        ngram.count = 0;
      }
      ngram.available = std::max(ngram.available, ++ngram.count);
    }
  }
}

void NgramBag::TakeMatches(std::span<const uint32_t> symbols,
                           std::span<double> matches) {
  std::fill(matches.begin(), matches.end(), 0.0);
  for (size_t begin = 0; begin < symbols.size(); ++begin) {
    const size_t end = std::min(begin + max_order_, symbols.size());
    uint64_t node = 0;
    for (size_t i = begin; i < end; ++i) {
      const Slot& slot = Find(node << 32 | symbols[i]);
      if (slot.generation != generation_) break;
      node = slot.node;
      if (nodes_[node].available == 0) continue;
      --nodes_[node].available;
      matches[i - begin] += 1;
    }
  }
}

}  // namespace pipeformer
