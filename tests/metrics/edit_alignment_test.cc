#include "lib/metrics/edit_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/base/random.h"

namespace pipeformer {
namespace {

using Words = std::vector<uint32_t>;

// Wagner and Fischer 1974, the whole table.
int SlowDistance(const Words& a, const Words& b) {
  std::vector<std::vector<int>> table(a.size() + 1,
                                      std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = static_cast<int>(i + j);
        continue;
      }
      table[i][j] =
          std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                    table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return table[a.size()][b.size()];
}

Words RandomWords(size_t length, Random* random) {
  Words words(length);
  for (auto& word : words) word = static_cast<uint32_t>(random->Below(5));
  return words;
}

TEST(BeamEditDistance, EqualsTheWholeTableForShortTexts) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const Words reference = RandomWords(1 + random.Below(24), &random);
    const Words hypothesis = RandomWords(random.Below(24), &random);
    BeamEditDistance distance(reference, hypothesis.size());
    EXPECT_EQ(distance.SetBase(hypothesis),
              SlowDistance(hypothesis, reference));
  }
}

TEST(BeamEditDistance, NeverFallsBelowTheTrueDistance) {
  Random random(2);
  for (int round = 0; round < 20; ++round) {
    const Words reference = RandomWords(1 + random.Below(300), &random);
    const Words hypothesis = RandomWords(random.Below(300), &random);
    BeamEditDistance distance(reference, hypothesis.size());
    const int edits = distance.SetBase(hypothesis);
    EXPECT_GE(edits, SlowDistance(hypothesis, reference));
    EXPECT_LE(edits, static_cast<int>(reference.size() + hypothesis.size()));
  }
}

TEST(BeamEditDistance, ReorderingFromBaseEqualsStartingAnew) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const Words reference = RandomWords(1 + random.Below(90), &random);
    const Words base = RandomWords(1 + random.Below(90), &random);
    BeamEditDistance distance(reference, base.size());
    distance.SetBase(base);
    const size_t num_same = random.Below(base.size() + 1);
    Words other = base;
    std::reverse(other.begin() + num_same, other.end());
    BeamEditDistance fresh(reference, base.size());
    EXPECT_EQ(distance.DistanceFrom(other, num_same), fresh.SetBase(other));
  }
}

TEST(BeamEditDistance, AlignmentCountsTheSameErrors) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    const Words reference = RandomWords(1 + random.Below(60), &random);
    const Words hypothesis = RandomWords(random.Below(60), &random);
    BeamEditDistance distance(reference, hypothesis.size());
    const int edits = distance.SetBase(hypothesis);
    const EditAlignment alignment = distance.AlignBase();
    // Every error stands on one side or, a substitution, on both.
    const int on_hypothesis = alignment.hypothesis_errors.back();
    const int on_reference = alignment.reference_errors.back();
    EXPECT_LE(std::max(on_hypothesis, on_reference), edits);
    EXPECT_GE(on_hypothesis + on_reference, edits);
    EXPECT_TRUE(std::is_sorted(alignment.hypothesis_position.begin(),
                               alignment.hypothesis_position.end()));
    for (size_t j = 0; j < reference.size(); ++j) {
      if (alignment.reference_errors[j + 1] > alignment.reference_errors[j]) {
        continue;
      }
      ASSERT_GE(alignment.hypothesis_position[j], 0);
      EXPECT_EQ(hypothesis[alignment.hypothesis_position[j]], reference[j]);
    }
  }
}

TEST(BeamEditDistance, BeamReachesOverVeryUnlikeLengths) {
  const Words reference(1000, 1);
  for (const size_t length : {0, 1, 2, 7}) {
    const Words hypothesis(length, 1);
    BeamEditDistance distance(reference, length);
    EXPECT_EQ(distance.SetBase(hypothesis), static_cast<int>(1000 - length));
  }
}

}  // namespace
}  // namespace pipeformer
