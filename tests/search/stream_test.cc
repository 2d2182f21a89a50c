// A sentence's translation does not depend on the others: not on the size of
// the batch, nor on the order, nor on who joins and leaves meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "lib/base/random.h"
#include "lib/search/beam_search.h"
#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

class SearchStream : public testing::TestWithParam<NamedConfig> {
 protected:
  SearchStream()
      : model_(SmallWorld(9, 21, GetParam().config)),
        sources_(RandomSources(40, 30, 9, 22)) {
    options_ = {.beam_size = 4, .n_best = 4, .max_length = 25};
    for (const auto& source : sources_) {
      alone_.push_back(Search(*model_, options_, {source}).front());
    }
  }

  void ExpectAsAlone(size_t sentence,
                     const std::vector<Hypothesis>& hypotheses) const {
    ASSERT_EQ(hypotheses.size(), alone_[sentence].size());
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      EXPECT_TRUE(Same(hypotheses[i], alone_[sentence][i]))
          << "sentence " << sentence << ", hypothesis " << i;
    }
  }

  std::unique_ptr<Transformer> model_;
  std::vector<std::vector<int32_t>> sources_;
  SearchOptions options_;
  std::vector<std::vector<Hypothesis>> alone_;
};

TEST_P(SearchStream, DoesNotDependOnTheSizeOfTheBatch) {
  for (const int64_t words : {1, 64, 4096}) {
    options_.mini_batch_words = words;
    const auto results = Search(*model_, options_, sources_);
    for (size_t s = 0; s < sources_.size(); ++s) ExpectAsAlone(s, results[s]);
  }
}

TEST_P(SearchStream, DoesNotDependOnTheOrder) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::vector<size_t> order(sources_.size());
    std::iota(order.begin(), order.end(), 0);
    Shuffle(order, Random(seed));
    std::vector<std::vector<int32_t>> shuffled;
    for (const size_t s : order) shuffled.push_back(sources_[s]);
    const auto results = Search(*model_, options_, shuffled);
    for (size_t i = 0; i < order.size(); ++i) {
      ExpectAsAlone(order[i], results[i]);
    }
  }
}

TEST_P(SearchStream, DoesNotDependOnWhoJoinsAndLeaves) {
  Random random(23);
  size_t next = 0;
  std::set<int64_t> seen;
  int64_t refused = 0;
  options_.mini_batch_words = 100;
  BeamSearch search(*model_, options_);
  search.Run(
      [&](Wait wait, SearchRequest& request) {
        if (next == sources_.size()) return false;
        // Where it need not wait the source often has nothing yet.
        if (wait == Wait::kNo && random.Below(3) != 0) {
          ++refused;
          return false;
        }
        request = {static_cast<int64_t>(next), sources_[next]};
        ++next;
        return true;
      },
      [&](SearchResult result) {
        EXPECT_TRUE(seen.insert(result.index).second);
        ExpectAsAlone(static_cast<size_t>(result.index), result.hypotheses);
      });
  EXPECT_EQ(seen.size(), sources_.size());
  EXPECT_GT(refused, 10);
}

TEST_P(SearchStream, RunsAgainAfterItsEnd) {
  BeamSearch search(*model_, options_);
  for (const size_t s : {size_t{3}, size_t{17}}) {
    bool given = false;
    int results = 0;
    search.Run(
        [&](Wait, SearchRequest& request) {
          if (given) return false;
          request = {7, sources_[s]};
          return given = true;
        },
        [&](SearchResult result) {
          EXPECT_EQ(result.index, 7);
          ExpectAsAlone(s, result.hypotheses);
          ++results;
        });
    EXPECT_EQ(results, 1);
  }
}

TEST_P(SearchStream, WaitsOnlyWithNothingToDo) {
  size_t next = 0;
  int64_t under_way = 0;
  BeamSearch(*model_, options_)
      .Run(
          [&](Wait wait, SearchRequest& request) {
            EXPECT_EQ(wait == Wait::kYes, under_way == 0);
            if (next == sources_.size()) return false;
            request = {static_cast<int64_t>(next), sources_[next]};
            ++next;
            ++under_way;
            return true;
          },
          [&](SearchResult) { --under_way; });
  EXPECT_EQ(next, sources_.size());
}

INSTANTIATE_TEST_SUITE_P(Networks, SearchStream,
                         testing::ValuesIn(EveryNetwork()), NameOf);

}  // namespace
}  // namespace pipeformer
