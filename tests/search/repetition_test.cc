#include "lib/search/repetition.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
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
// come again: after b b b b the search itself says b b a b and must end.
TEST(BeamSearch, APrefixIsKeptAndDoesNotCountAsSaid) {
  const auto world = ToyWorld({.end = 0.1, .a = 0.3, .b = 0.6});
  BeamSearch search(*world, {.beam_size = 1, .no_repeat_ngram_size = 2});
  std::vector<Hypothesis> found;
  bool given = false;
  search.Run(
      [&](Wait, SearchRequest& request) {
        if (given) return false;
        request = {.index = 0, .source = {kA}, .prefix = {kB, kB, kB, kB}};
        return given = true;
      },
      [&](SearchResult result) { found = std::move(result.hypotheses); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ids,
            (std::vector<int32_t>{kB, kB, kB, kB, kB, kB, kA, kB}));
  EXPECT_NEAR(found[0].log_prob,
              7 * std::log(0.6) + std::log(0.3) + std::log(0.1), 1e-5);
}

// The end comes first as soon as it may; with a limit below, at the limit.
TEST(BeamSearch, HasTheFewestPiecesAskedFor) {
  const auto world = ToyWorld({.end = 0.5, .a = 0.3, .b = 0.2});
  using Case = std::array<int64_t, 3>;
  for (const auto& [fewest, most, expected] :
       {Case{0, 10, 0}, Case{3, 10, 3}, Case{3, 2, 2}}) {
    const SearchOptions options{
        .beam_size = 4, .max_length = most, .min_length = fewest};
    const auto found = Search(*world, options, {{kA}}).front();
    const auto size = static_cast<size_t>(expected);
    for (const Hypothesis& h : found) EXPECT_GE(h.ids.size(), size);
    EXPECT_EQ(found[0].ids.size(), size) << fewest << " to " << most;
    EXPECT_NEAR(found[0].log_prob,
                static_cast<double>(expected) * std::log(0.3) + std::log(0.5),
                1e-5);
  }
}

// Field case rep-ratio.
TEST(BeamSearch, ALoopEndsAtTheLimitOfTheSource) {
  const auto world = ToyWorld({.end = 1e-6, .a = 0.9, .b = 0.1});
  const SearchOptions options{.beam_size = 1, .max_length_factor = 2};
  const auto found = Search(*world, options, {{kA, kA, kA, kA, kA}});
  EXPECT_EQ(found[0].at(0).ids.size(), 2u * 5 + 10);
}

}  // namespace
}  // namespace pipeformer
