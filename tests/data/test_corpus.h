// A corpus in memory, for tests: pairs are added one by one.
#ifndef PIPEFORMER_TESTS_DATA_TEST_CORPUS_H_
#define PIPEFORMER_TESTS_DATA_TEST_CORPUS_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/data/corpus.h"

namespace pipeformer {

class TestCorpus {
 public:
  void Add(const std::vector<int32_t>& source,
           const std::vector<int32_t>& target) {
    Append(source, source_ids_, source_offsets_);
    Append(target, target_ids_, target_offsets_);
  }

  PairCorpus view() const {
    return {{source_ids_, source_offsets_}, {target_ids_, target_offsets_}};
  }

 private:
  static void Append(const std::vector<int32_t>& pieces,
                     std::vector<int32_t>& ids, std::vector<int64_t>& offsets) {
    ids.insert(ids.end(), pieces.begin(), pieces.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }

  std::vector<int32_t> source_ids_, target_ids_;
  std::vector<int64_t> source_offsets_{0}, target_offsets_{0};
};

// `count` random pieces in [3, vocab).
inline std::vector<int32_t> RandomPieces(uint64_t count, uint64_t vocab,
                                         Random& random) {
  std::vector<int32_t> pieces(count);
  for (int32_t& id : pieces) {
    id = static_cast<int32_t>(3 + random.Below(vocab - 3));
  }
  return pieces;
}

// Pairs of 1 to `longest` pieces on each side.
inline TestCorpus RandomCorpus(size_t size, uint64_t longest, uint64_t seed) {
  TestCorpus corpus;
  Random random(seed);
  for (size_t i = 0; i < size; ++i) {
    const auto source = RandomPieces(1 + random.Below(longest), 50, random);
    const auto target = RandomPieces(1 + random.Below(longest), 50, random);
    corpus.Add(source, target);
  }
  return corpus;
}

// Pairs whose target is the source, 1 to `longest` pieces in [3, vocab).
inline TestCorpus CopyCorpus(size_t size, uint64_t longest, uint64_t vocab,
                             uint64_t seed) {
  TestCorpus corpus;
  Random random(seed);
  for (size_t i = 0; i < size; ++i) {
    const auto pieces = RandomPieces(1 + random.Below(longest), vocab, random);
    corpus.Add(pieces, pieces);
  }
  return corpus;
}

// The same pieces as targets alone: what a model of sentences learns from.
inline TestCorpus TargetsOf(const PairCorpus& pairs) {
  TestCorpus corpus;
  for (int64_t s = 0; s < pairs.size(); ++s) {
    corpus.Add({}, {pairs.target[s].begin(), pairs.target[s].end()});
  }
  return corpus;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_DATA_TEST_CORPUS_H_
