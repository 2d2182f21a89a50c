#include "lib/search/repetition.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/search/search_twin.h"
#include "tests/search/toy_world.h"

namespace pipeformer {
namespace {

std::set<int32_t> Repeats(std::vector<int32_t> ids, int64_t size) {
  std::set<int32_t> banned;
  ForEachRepeat(std::span<const int32_t>(ids), size,
                [&](int32_t id) { banned.insert(id); });
  return banned;
}

TEST(ForEachRepeat, NamesWhatWouldCompleteASequenceAgain) {
  using Ids = std::set<int32_t>;
  EXPECT_EQ(Repeats({1, 2, 3, 1}, 2), Ids{2});
  EXPECT_EQ(Repeats({1, 2, 1, 3, 1}, 2), (Ids{2, 3}));
  EXPECT_EQ(Repeats({1, 2, 3, 1, 2}, 3), Ids{3});
  EXPECT_EQ(Repeats({1, 2, 3, 4, 2}, 3), Ids{});
  EXPECT_EQ(Repeats({1, 2, 1}, 1), (Ids{1, 2}));
  EXPECT_EQ(Repeats({1, 1, 1}, 0), Ids{});
  EXPECT_EQ(Repeats({1, 1}, 3), Ids{});
  EXPECT_EQ(Repeats({}, 2), Ids{});
}

// Field case rep-ngram-block: a a, a b and b a are used up one after another;
// after the last a, a and b would repeat, so the end is all that is left.
TEST(BeamSearch, NoPairOfPiecesComesTwice) {
  const auto world = ToyWorld({.end = 0.1, .a = 0.6, .b = 0.3});
  const SearchOptions options{
      .beam_size = 1, .no_repeat_ngram_size = 2, .max_length = 10};
  const auto found = Search(*world, options, {{kA}});
  EXPECT_EQ(found[0].at(0).ids, (std::vector<int32_t>{kA, kA, kB, kA}));
}

// Field case rep-ngram-prefix: the prefix stays as it is, and its pairs may
// come again.
TEST(BeamSearch, APrefixIsKeptAndDoesNotCountAsSaid) {
  const auto world = ToyWorld({.end = 0.1, .a = 0.6, .b = 0.3});
  const SearchOptions options{
      .beam_size = 3, .n_best = 3, .no_repeat_ngram_size = 2, .max_length = 12};
  BeamSearch search(*world, options);
  std::vector<Hypothesis> found;
  bool given = false;
  search.Run(
      [&](Wait, SearchRequest& request) {
        if (given) return false;
        request = {.index = 0, .source = {kA}, .prefix = {kB, kB, kB, kB}};
        return given = true;
      },
      [&](SearchResult result) { found = std::move(result.hypotheses); });
  ASSERT_EQ(found.size(), 3u);
  bool repeats = false;
  for (const Hypothesis& h : found) {
    ASSERT_GE(h.ids.size(), 4u);
    EXPECT_EQ(std::vector<int32_t>(h.ids.begin(), h.ids.begin() + 4),
              std::vector<int32_t>(4, kB));
    EXPECT_NEAR(h.token_log_probs[0], std::log(0.3), 1e-5);
    for (size_t i = 5; i < h.ids.size(); ++i) {
      repeats |= h.ids[i - 1] == kB && h.ids[i] == kB;
    }
  }
  EXPECT_TRUE(repeats) << "b b was only said by the prefix";
}

// Field case rep-ratio.
TEST(BeamSearch, ALoopEndsAtTheLimitOfTheSource) {
  const auto world = ToyWorld({.end = 1e-6, .a = 0.9, .b = 0.1});
  const SearchOptions options{.beam_size = 1, .max_length_factor = 2};
  const auto found = Search(*world, options, {{kA, kA, kA, kA, kA}});
  EXPECT_EQ(found[0].at(0).ids.size(), 2u * 6 + 10);
}

}  // namespace
}  // namespace pipeformer
