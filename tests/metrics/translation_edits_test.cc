#include "lib/metrics/translation_edits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/random.h"

namespace pipeformer {
namespace {

using Words = std::vector<uint32_t>;

Words Number(const std::string& text, std::map<std::string, uint32_t>* table) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    words.push_back(table->emplace(word, static_cast<uint32_t>(table->size()))
                        .first->second);
  }
  return words;
}

// Random re-orderings and edits of up to 120 words, words repeated or not,
// and lengths as unlike as 1 and 200; the numbers are sacreBLEU 2.6.0's.
TEST(TranslationEdits, EqualSacreBleuOnRandomShifts) {
  std::ifstream file("tests/metrics/data/ter_shifts.jsonl");
  int num_rows = 0;
  for (std::string line; std::getline(file, line); ++num_rows) {
    const auto row = nlohmann::json::parse(line);
    std::map<std::string, uint32_t> table;
    const Words hypothesis = Number(row["hypothesis"], &table);
    const Words reference = Number(row["reference"], &table);
    EXPECT_EQ(CountTranslationEdits(hypothesis, reference), row["num_edits"])
        << "row " << num_rows + 1;
  }
  EXPECT_EQ(num_rows, 63);
}

TEST(TranslationEdits, EqualTextsNeedNone) {
  Random random(1);
  for (size_t length = 0; length < 60; ++length) {
    Words words(length);
    for (auto& word : words) word = static_cast<uint32_t>(random.Below(6));
    EXPECT_EQ(CountTranslationEdits(words, words), 0);
  }
}

TEST(TranslationEdits, AMovedGroupIsOneEdit) {
  EXPECT_EQ(
      CountTranslationEdits({4, 5, 6, 1, 2, 3, 7}, Words{1, 2, 3, 4, 5, 6, 7}),
      1);
}

TEST(TranslationEdits, AGroupOfMoreThanTenWordsIsNotMovedAsOne) {
  Words reference(24);
  for (uint32_t i = 0; i < 24; ++i) reference[i] = i;
  Words hypothesis = reference;
  std::rotate(hypothesis.begin(), hypothesis.begin() + 10, hypothesis.end());
  EXPECT_EQ(CountTranslationEdits(hypothesis, reference), 1);
  hypothesis = reference;
  std::rotate(hypothesis.begin(), hypothesis.begin() + 12, hypothesis.end());
  EXPECT_GT(CountTranslationEdits(hypothesis, reference), 1);
}

TEST(TranslationEdits, EveryWordIsAnEditWithoutReference) {
  EXPECT_EQ(CountTranslationEdits({1, 2, 3}, Words{}), 3);
  EXPECT_EQ(CountTranslationEdits({}, Words{1, 2}), 2);
  EXPECT_EQ(CountTranslationEdits({}, Words{}), 0);
}

// Time must stay in bounds: 1000 moves are tried at most.
TEST(TranslationEdits, LongRepetitiveTextsEnd) {
  Words hypothesis(4000, 1);
  Words reference(4000, 1);
  for (size_t i = 0; i < reference.size(); i += 3) reference[i] = 2;
  for (size_t i = 0; i < hypothesis.size(); i += 7) hypothesis[i] = 2;
  EXPECT_GT(CountTranslationEdits(hypothesis, reference), 0);
}

}  // namespace
}  // namespace pipeformer
