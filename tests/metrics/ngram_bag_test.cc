#include "lib/metrics/ngram_bag.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "lib/base/random.h"

namespace pipeformer {
namespace {

using Symbols = std::vector<uint32_t>;

std::map<Symbols, int> CountNgrams(const Symbols& symbols, size_t order) {
  std::map<Symbols, int> counts;
  for (size_t i = 0; i + order <= symbols.size(); ++i) {
    ++counts[Symbols(symbols.begin() + i, symbols.begin() + i + order)];
  }
  return counts;
}

// Papineni et al. 2002, section 2.1.1, as it stands: the sum over n-grams of
// the hypothesis count, at most the largest count in one reference.
double SlowMatches(const Symbols& hypothesis,
                   const std::vector<Symbols>& references, size_t order) {
  double matches = 0;
  for (const auto& [ngram, count] : CountNgrams(hypothesis, order)) {
    int largest = 0;
    for (const Symbols& reference : references) {
      auto counts = CountNgrams(reference, order);
      largest = std::max(largest, counts[ngram]);
    }
    matches += std::min(count, largest);
  }
  return matches;
}

Symbols RandomSymbols(size_t length, uint64_t alphabet, Random* random) {
  Symbols symbols(length);
  for (auto& symbol : symbols) {
    symbol = static_cast<uint32_t>(random->Below(alphabet));
  }
  return symbols;
}

TEST(NgramBag, EqualsCountingByMap) {
  Random random(1);
  NgramBag bag(4);  // One for all rounds: Clear must leave nothing behind.
  for (int round = 0; round < 300; ++round) {
    const uint64_t alphabet = 1 + random.Below(8);
    const Symbols hypothesis =
        RandomSymbols(random.Below(40), alphabet, &random);
    std::vector<Symbols> references(1 + random.Below(3));
    bag.Clear();
    for (Symbols& reference : references) {
      reference = RandomSymbols(random.Below(40), alphabet, &random);
      bag.AddReference(reference);
    }
    std::vector<double> matches(4);
    bag.TakeMatches(hypothesis, matches);
    for (size_t n = 1; n <= 4; ++n) {
      EXPECT_EQ(matches[n - 1], SlowMatches(hypothesis, references, n))
          << "round " << round << " order " << n;
    }
  }
}

TEST(NgramBag, GrowsWithLongTexts) {
  Symbols symbols(20000);
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i] = static_cast<uint32_t>(i);
  }
  NgramBag bag(4);
  bag.AddReference(symbols);
  bag.AddReference(symbols);
  std::vector<double> matches(4);
  bag.TakeMatches(symbols, matches);
  EXPECT_EQ(matches, (std::vector<double>{20000, 19999, 19998, 19997}));
}

TEST(NgramBag, WhatWasTakenIsGone) {
  NgramBag bag(1);
  bag.AddReference(Symbols{7, 7});
  std::vector<double> matches(1);
  bag.TakeMatches(Symbols{7, 7, 7}, matches);
  EXPECT_EQ(matches[0], 2);
  bag.TakeMatches(Symbols{7}, matches);
  EXPECT_EQ(matches[0], 0);
}

TEST(WordTable, EqualWordsHaveEqualNumbers) {
  std::vector<std::u32string> words;
  for (char32_t c = 0; c < 3000; ++c) words.push_back({U'w', c});
  WordTable table;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(table.Number(words[i]), i);
    }
  }
  table.Clear();
  EXPECT_EQ(table.Number(words[5]), 0u);
  EXPECT_EQ(table.Number(U""), 1u);
}

TEST(NumNgrams, IsZeroForShortTexts) {
  EXPECT_EQ(NumNgrams(5, 4), 2u);
  EXPECT_EQ(NumNgrams(3, 4), 0u);
  EXPECT_EQ(NumNgrams(0, 1), 0u);
}

}  // namespace
}  // namespace pipeformer
