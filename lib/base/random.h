// Chance without state: every number is a function of a key and a counter, so
// the same seed gives the same numbers at any thread count and in any order,
// and a resumed run continues to the bit.
#ifndef PIPEFORMER_LIB_BASE_RANDOM_H_
#define PIPEFORMER_LIB_BASE_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pipeformer {

// Mixes 64 bits so that every input bit moves every output bit.
// Source: the finaliser of SplitMix64 (Steele et al. 2014, section 5).
inline uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A stream of random numbers named by a key. Copy it, derive sub-streams with
// `Fork`; nothing is shared.
class Random {
 public:
  explicit Random(uint64_t seed) : key_(MixBits(seed)) {}

  // An independent stream for `tag` (a step, a tensor, a record).
  Random Fork(uint64_t tag) const {
    Random child(key_ ^ MixBits(tag ^ 0x6a09e667f3bcc909u));
    return child;
  }

  uint64_t key() const { return key_; }

  // The number at position `index` of the stream, uniform over 64 bits.
  uint64_t At(uint64_t index) const { return MixBits(key_ ^ MixBits(index)); }

  // The next number of the stream, uniform over 64 bits.
  uint64_t Next() { return At(counter_++); }

  // Uniform in [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Uniform in [0, limit). Requires: limit > 0.
  uint64_t Below(uint64_t limit) {
    return static_cast<uint64_t>(
        (static_cast<unsigned __int128>(Next()) * limit) >> 64);
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

// Puts `items` into random order (Fisher and Yates, as in Knuth volume 2,
// 3.4.2, algorithm P).
template <class Vector>
void Shuffle(Vector& items, Random random) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.Below(i)]);
  }
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_RANDOM_H_
