#include "lib/search/invariance.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

std::vector<SearchRequest> Requests(size_t count) {
  std::vector<SearchRequest> requests;
  for (const auto& source : RandomSources(count, 20, 77, 41)) {
    requests.push_back(
        {.index = static_cast<int64_t>(requests.size()), .source = source});
  }
  return requests;
}

class Invariance : public testing::TestWithParam<NamedConfig> {
 protected:
  void Expect(const SearchOptions& options) const {
    EXPECT_TRUE(FindVariances(*model_, options, Requests(30), 3).empty());
  }

  std::unique_ptr<Transformer> model_ = [] {
    auto model = RandomNetwork(GetParam().config, 42);
    model->Pack(GetParam().precision);
    return model;
  }();
};

TEST_P(Invariance, OfBeamsGreedySearchAndChance) {
  Expect({.beam_size = 4, .n_best = 4, .max_length = 15});
  Expect({.beam_size = 1, .max_length = 15});
  Expect({.n_best = 2, .sampling = {SamplingKind::kTopK, 9}, .max_length = 15});
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Invariance,
    testing::ValuesIn(InEveryPrecision(EveryArchitecture())), NameOf);

// Two sentences of one index, of which the last one found counts: together the
// longer one, alone the first one.
TEST(FindVariances, FindsWhatDependsOnTheOrder) {
  auto requests = Requests(2);
  requests[1].index = requests[0].index;
  requests[0].max_length = 1;
  requests[1].min_length = 9;
  const auto model = SmallWorld(77, 43);
  const auto variances =
      FindVariances(*model, {.beam_size = 2, .max_length = 9}, requests, 2);
  ASSERT_FALSE(variances.empty());
  EXPECT_EQ(variances[0].index, requests[0].index);
}

}  // namespace
}  // namespace pipeformer
