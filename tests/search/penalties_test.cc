// Penalties for repetition and for source pieces that nothing looks at, and
// lengths of single sentences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "lib/search/beam_search.h"
#include "lib/search/forced.h"
#include "lib/search/invariance.h"
#include "tests/search/search_twin.h"
#include "tests/search/toy_world.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

// By hand: with P = 2 a second a counts 2 log 0.6 = log 0.36, b still log 0.3,
// and with P = 3 log 0.216, so that b comes; then both count less than the end.
TEST(RepetitionPenalty, WeighsWhatWasSaid) {
  const auto world = ToyWorld({.end = 0.1, .a = 0.6, .b = 0.3});
  SearchOptions options{.beam_size = 1, .normalize = 1, .max_length = 3};
  const auto search = [&] { return Search(*world, options, {{kA}})[0].at(0); };
  EXPECT_EQ(search().ids, (Ids{kA, kA, kA}));
  options.repetition_penalty = 2;
  Hypothesis h = search();
  EXPECT_EQ(h.ids, (Ids{kA, kA, kA}));
  // The log-probability stays the model's; the score is of what counts.
  EXPECT_NEAR(h.log_prob, 3 * std::log(0.6) + std::log(0.1), 1e-5);
  EXPECT_NEAR(h.score, (5 * std::log(0.6) + std::log(0.1)) / 4, 1e-5);
  options.repetition_penalty = 3;
  h = search();
  EXPECT_EQ(h.ids, (Ids{kA, kB, kA}));
  EXPECT_NEAR(
      h.score,
      (std::log(0.6) + std::log(0.3) + 3 * std::log(0.6) + std::log(0.1)) / 4,
      1e-5);
  options.repetition_penalty = 10;
  EXPECT_EQ(search().ids, (Ids{kA, kB}));
}

// What chance draws: with a large penalty no piece comes twice.
TEST(RepetitionPenalty, WeighsWhatIsDrawn) {
  const auto world = ToyWorld({.end = 0.2, .a = 0.4, .b = 0.4});
  const SearchOptions options{.n_best = 200,
                              .sampling = {SamplingKind::kFull},
                              .repetition_penalty = 100,
                              .max_length = 8};
  std::set<Ids> found;
  const auto drawn = Search(*world, options, {{kA}});
  for (const Hypothesis& h : drawn[0]) {
    found.insert(h.ids);
    EXPECT_NEAR(
        h.log_prob,
        static_cast<double>(h.ids.size()) * std::log(0.4) + std::log(0.2),
        1e-5);
  }
  EXPECT_EQ(found, (std::set<Ids>{{}, {kA}, {kB}, {kA, kB}, {kB, kA}}));
}

// Weighing by one changes nothing, to the last bit.
TEST(RepetitionPenalty, OfOneIsNone) {
  const auto model = SmallWorld(30, 12);
  const auto sources = RandomSources(10, 9, 30, 5);
  SearchOptions options{.beam_size = 4, .n_best = 4, .max_length = 12};
  const auto plain = Search(*model, options, sources);
  options.repetition_penalty = std::nextafter(1.0, 2.0);
  const auto weighed = Search(*model, options, sources);
  for (size_t s = 0; s < sources.size(); ++s) {
    ASSERT_EQ(plain[s].size(), weighed[s].size());
    for (size_t i = 0; i < plain[s].size(); ++i) {
      EXPECT_TRUE(Same(plain[s][i], weighed[s][i]));
    }
  }
}

// The score holds what forced decoding of the same pieces looks at.
TEST(CoveragePenalty, CountsTheAttentionOfTheLastLayer) {
  for (const NamedConfig& named : EveryArchitecture()) {
    if (named.config.is_language_model()) continue;
    const auto model = RandomNetwork(named.config, 6);
    model->Pack();
    const auto sources = RandomSources(8, 9, named.config.source_vocab, 7);
    const SearchOptions options{.beam_size = 3,
                                .n_best = 3,
                                .normalize = 0.7,
                                .coverage_penalty = 0.4,
                                .max_length = 10};
    const auto found = Search(*model, options, sources);
    for (size_t s = 0; s < sources.size(); ++s) {
      double before = 1e9;
      for (const Hypothesis& h : found[s]) {
        const ForcedPair pair{sources[s], h.ids};
        const ForcedResult forced =
            ForcedDecoder(*model, {})
                .Run({&pair, 1}, {.attention = WantAttention::kYes})[0];
        std::vector<double> seen(sources[s].size());
        for (const AttentionMatrix& m : forced.attention) {
          if (m.kind != AttentionKind::kCross ||
              m.layer != named.config.decoder_layers - 1) {
            continue;
          }
          for (int64_t q = 0; q < m.queries; ++q) {
            for (size_t j = 0; j < seen.size(); ++j) {
              seen[j] += static_cast<double>(
                             m.weights[static_cast<size_t>(q * m.keys) + j]) /
                         named.config.num_heads;
            }
          }
        }
        double score = NormalizedScore(
            h.log_prob, static_cast<int64_t>(h.ids.size()) + 1, 0.7);
        for (const double x : seen) score += 0.4 * std::log(std::min(x, 1.0));
        EXPECT_NEAR(h.score, score, 1e-6) << named.name;
        EXPECT_LE(h.score, before);
        before = h.score;
      }
    }
  }
}

TEST(Lengths, OfASentenceAreItsOwn) {
  const auto world = ToyWorld({.end = 0.5, .a = 0.3, .b = 0.2});
  const auto loop = ToyWorld({.end = 1e-6, .a = 0.9, .b = 0.1});
  const SearchOptions options{.beam_size = 1, .max_length = 7, .min_length = 1};
  const std::vector<SearchRequest> requests = {
      {.source = {kA}},
      {.source = {kA}, .min_length = 4},
      {.source = {kA}, .max_length = 2},
      {.source = {kA}, .max_length = 20},  // also beyond what the options allow
      {.source = {kA}, .min_length = 0, .max_length = 0}};
  const auto lengths = [&](const Transformer& model) {
    std::vector<size_t> sizes;
    for (const auto& found : SearchRequests(model, options, requests)) {
      sizes.push_back(found.at(0).ids.size());
    }
    return sizes;
  };
  EXPECT_EQ(lengths(*world), (std::vector<size_t>{1, 4, 1, 1, 0}));
  EXPECT_EQ(lengths(*loop), (std::vector<size_t>{7, 7, 2, 20, 0}));
}

TEST(Penalties, KeepTheLawOfOneSentence) {
  const auto model = SmallWorld(30, 9);
  std::vector<SearchRequest> requests;
  for (const auto& source : RandomSources(40, 12, 30, 4)) {
    requests.push_back(
        {.index = static_cast<int64_t>(requests.size()), .source = source});
  }
  EXPECT_TRUE(FindVariances(*model,
                            {.beam_size = 4,
                             .n_best = 4,
                             .repetition_penalty = 1.3,
                             .coverage_penalty = 0.2,
                             .max_length = 15},
                            requests, 3)
                  .empty());
}

}  // namespace
}  // namespace pipeformer
