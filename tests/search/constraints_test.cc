#include "lib/search/constraints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "lib/base/random.h"
#include "lib/search/forced.h"
#include "lib/search/invariance.h"
#include "tests/search/search_twin.h"
#include "tests/search/toy_world.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

ConstraintState After(const Constraints& constraints, const Ids& ids) {
  ConstraintState state;
  for (const int32_t id : ids) state.Advance(constraints, id);
  return state;
}

TEST(ConstraintState, CountsWhatIsMetAndNamesWhatIsWanted) {
  const Constraints constraints = {{3, 4, 5}, {6}, {3}};
  const auto expect = [&](const Ids& ids, int64_t met, const Ids& wanted) {
    const ConstraintState state = After(constraints, ids);
    EXPECT_EQ(state.num_met(constraints), met) << testing::PrintToString(ids);
    EXPECT_EQ(state.Wanted(constraints), wanted) << testing::PrintToString(ids);
  };
  expect({}, 0, {3, 6});
  expect({3}, 1, {4});  // the first that begins so
  expect({3, 4}, 2, {5});
  expect({3, 4, 9}, 0, {3, 6});  // left: its pieces count no more
  expect({3, 4, 6}, 1, {3});     // left for another one
  expect({3, 3}, 1, {4});        // begun anew
  expect({3, 4, 5}, 3, {3, 6});
  expect({3, 4, 5, 3}, 4, {6});  // now the short one
  expect({6, 3, 4, 5, 3}, 5, {});
  expect({6, 6, 6}, 1, {3});
}

TEST(ConstraintState, HurriesWhenAnotherPieceWouldTakeTheRoom) {
  const Constraints constraints = {{3, 4}, {6}};
  EXPECT_FALSE(After(constraints, {}).MustHurry(constraints, 4));
  EXPECT_TRUE(After(constraints, {}).MustHurry(constraints, 3));
  // Leaving the one begun would cost its piece.
  EXPECT_TRUE(After(constraints, {3}).MustHurry(constraints, 3));
  EXPECT_FALSE(After(constraints, {3}).MustHurry(constraints, 4));
  EXPECT_FALSE(After(constraints, {3, 4, 6}).MustHurry(constraints, 0));
  EXPECT_FALSE(ConstraintState().MustHurry({}, 0));
}

bool Contains(const Ids& ids, const Ids& part) {
  return !std::ranges::search(ids, part).empty();
}

// Random constraints, not more than fit, for random sources.
std::vector<SearchRequest> ConstrainedRequests(size_t count, int64_t vocab,
                                               uint64_t seed) {
  std::vector<SearchRequest> requests;
  Random random(seed);
  for (const auto& source : RandomSources(count, 6, vocab, seed)) {
    SearchRequest request = {.index = static_cast<int64_t>(requests.size()),
                             .source = source};
    for (uint64_t c = random.Below(4); c > 0; --c) {
      Ids& constraint = request.constraints.emplace_back();
      for (uint64_t i = random.Below(3) + 1; i > 0; --i) {
        constraint.push_back(static_cast<int32_t>(
            3 + random.Below(static_cast<uint64_t>(vocab) - 3)));
      }
    }
    if (random.Below(3) == 0) request.prefix = {3, 4};
    requests.push_back(std::move(request));
  }
  return requests;
}

// Whatever the beam, however little room there is: every result, first or last,
// has everything; none comes twice.
TEST(BeamSearch, ConstraintsAreAlwaysMet) {
  for (const int64_t vocab : {7, 30}) {
    const auto model = SmallWorld(vocab, 3);
    for (const int64_t beam : {1, 2, 3, 5, 8}) {
      for (const int64_t most : {1, 6, 9, 14, 30}) {
        for (const int64_t repeats : {0, 1}) {
          const SearchOptions options{.beam_size = beam,
                                      .n_best = beam,
                                      .no_repeat_ngram_size = repeats,
                                      .max_length = most};
          const auto requests =
              ConstrainedRequests(12, vocab, static_cast<uint64_t>(most));
          const auto found = SearchRequests(*model, options, requests);
          for (size_t i = 0; i < requests.size(); ++i) {
            const SearchRequest& r = requests[i];
            ASSERT_FALSE(found[i].empty());
            for (const Hypothesis& h : found[i]) {
              for (const Ids& c : r.constraints) {
                EXPECT_TRUE(Contains(h.ids, c))
                    << testing::PrintToString(h.ids) << " lacks "
                    << testing::PrintToString(c);
              }
              EXPECT_TRUE(std::ranges::equal(
                  std::span(h.ids).first(r.prefix.size()), r.prefix));
              EXPECT_LE(
                  static_cast<int64_t>(h.ids.size()),
                  std::max(most, NumPieces(r.constraints) +
                                     static_cast<int64_t>(r.prefix.size())));
              EXPECT_EQ(std::ranges::count(found[i], h.ids, &Hypothesis::ids),
                        1);
            }
          }
        }
      }
    }
  }
}

// A beam that holds everything finds the most probable of the sequences that
// enumeration finds to contain the constraint.
TEST(BeamSearch, ALargeBeamFindsTheBestThatMeetsThem) {
  const auto model = SmallWorld(6, 5);
  std::vector<Ids> all = {{}};
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].size() == 4) continue;
    for (const int32_t word : {3, 4, 5}) {
      Ids longer = all[i];
      longer.push_back(word);
      all.push_back(longer);
    }
  }
  SearchOptions options{.beam_size = 2000, .normalize = 0, .max_length = 4};
  options.suppressed = {0, 1};
  const Ids source = {3, 5, 4};
  std::vector<ForcedPair> pairs;
  for (const Ids& ids : all) pairs.push_back({source, ids});
  const auto forced = ForcedDecoder(*model, options.boundary).Run(pairs, {});
  for (const Constraints& constraints :
       {Constraints{{5}}, Constraints{{3, 4}}, Constraints{{4, 4}, {3}},
        Constraints{{5, 3}, {3, 5}}}) {
    double best = -std::numeric_limits<double>::infinity();
    Ids expected;
    for (size_t i = 0; i < all.size(); ++i) {
      // As the search counts them: one after another, never overlapping.
      if (After(constraints, all[i]).num_met(constraints) <
          NumPieces(constraints)) {
        continue;
      }
      if (forced[i].log_prob <= best) continue;
      best = forced[i].log_prob;
      expected = all[i];
    }
    const auto found = SearchRequests(
        *model, options, {{.source = source, .constraints = constraints}});
    EXPECT_EQ(found[0].at(0).ids, expected);
    EXPECT_EQ(found[0].at(0).log_prob, best);
  }
}

// By hand: b must come; after b, the end is the most probable. To begin with b
// costs least, and the log-probability is the model's.
TEST(BeamSearch, AConstraintOfTheToyWorld) {
  const auto world = ToyWorld({.end = 0.5, .a = 0.3, .b = 0.2});
  const auto found = SearchRequests(*world, {.beam_size = 4, .max_length = 5},
                                    {{.source = {kA}, .constraints = {{kB}}}});
  EXPECT_EQ(found[0].at(0).ids, Ids{kB});
  EXPECT_NEAR(found[0][0].log_prob, std::log(0.2) + std::log(0.5), 1e-6);
}

TEST(BeamSearch, ConstraintsKeepTheLawOfOneSentence) {
  const auto model = SmallWorld(30, 8);
  const auto variances =
      FindVariances(*model, {.beam_size = 4, .n_best = 4, .max_length = 12},
                    ConstrainedRequests(40, 30, 77), 3);
  EXPECT_TRUE(variances.empty());
}

}  // namespace
}  // namespace pipeformer
