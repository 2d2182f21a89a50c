// What beam search finds: what a slow twin finds, within its limits.
#include "lib/search/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tests/nn/test_network.h"
#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

TEST(NormalizedScore, DividesByThePowerOfTheLength) {
  EXPECT_EQ(NormalizedScore(-8, 4, 0), -8);
  EXPECT_EQ(NormalizedScore(-8, 4, 1), -2);
  EXPECT_EQ(NormalizedScore(-8, 4, 0.5), -4);
}

// Networks of 77 pieces go on to their limits; those of 9 end early.
struct Beam {
  int64_t vocab;
  int64_t beam_size;
};

void ExpectSameAsTwin(const Beam& beam, uint64_t seed,
                      const NamedConfig& network) {
  const SearchOptions options = {.beam_size = beam.beam_size,
                                 .n_best = beam.beam_size,
                                 .max_length = 12,
                                 .suppressed = {0, 1}};
  const auto model = SmallWorld(beam.vocab, seed, network.config);
  const auto sources = RandomSources(5, 9, beam.vocab, seed);
  const auto found = Search(*model, options, sources);
  for (size_t s = 0; s < sources.size(); ++s) {
    const auto slow = SlowBeamSearch(*model, options, sources[s]);
    ASSERT_EQ(found[s].size(), slow.size()) << network;
    for (size_t i = 0; i < slow.size(); ++i) {
      EXPECT_EQ(found[s][i].ids, slow[i].ids);
      EXPECT_EQ(found[s][i].token_log_probs, slow[i].token_log_probs);
      EXPECT_EQ(found[s][i].log_prob, slow[i].log_prob);
      EXPECT_NEAR(found[s][i].score, slow[i].score, 1e-12);
    }
  }
}

class BeamSearchTwin : public testing::TestWithParam<Beam> {};

TEST_P(BeamSearchTwin, FindsTheSame) {
  for (const uint64_t seed : {1, 2}) {
    for (const NamedConfig& network : EveryArchitecture()) {
      ExpectSameAsTwin(GetParam(), seed, network);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Beams, BeamSearchTwin,
                         testing::Values(Beam{77, 1}, Beam{77, 4}, Beam{9, 1},
                                         Beam{9, 2}, Beam{9, 5},
                                         // Larger than the vocabulary: the
                                         // first step cannot fill it.
                                         Beam{9, 30}));

// The most probable piece at each step, until the sentence ends.
Ids GreedyChoices(const Transformer& model, const SearchOptions& options,
                  const Ids& source) {
  Ids greedy;
  while (static_cast<int64_t>(greedy.size()) < options.max_length) {
    const auto next = NextLogProbs(model, options, source, greedy);
    const auto best = std::max_element(next.begin(), next.end());
    const auto id = static_cast<int32_t>(best - next.begin());
    if (id == options.boundary.eos) break;
    greedy.push_back(id);
  }
  return greedy;
}

class Greedy : public testing::TestWithParam<NamedConfig> {};

TEST_P(Greedy, IsWhatABeamOfOneFinds) {
  const SearchOptions options = {
      .beam_size = 1, .max_length = 15, .max_length_factor = 10};
  std::set<size_t> lengths;
  for (const uint64_t seed : {5, 6, 7, 8}) {
    const auto model = SmallWorld(9, seed, GetParam().config);
    const auto sources = RandomSources(12, 8, 9, seed);
    const auto found = Search(*model, options, sources);
    for (size_t s = 0; s < sources.size(); ++s) {
      const Ids greedy = GreedyChoices(*model, options, sources[s]);
      ASSERT_EQ(found[s].size(), 1u);
      EXPECT_EQ(found[s][0].ids, greedy);
      lengths.insert(greedy.size());
    }
  }
  EXPECT_GT(lengths.size(), 1u);  // else the test shows little
}

INSTANTIATE_TEST_SUITE_P(Networks, Greedy, testing::ValuesIn(EveryNetwork()),
                         NameOf);

class BeamSearchNetworks : public testing::TestWithParam<NamedConfig> {};

TEST_P(BeamSearchNetworks, FindWhatTheTwinFinds) {
  ExpectSameAsTwin({.vocab = 9, .beam_size = 5}, 4, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Networks, BeamSearchNetworks,
                         testing::ValuesIn(EveryNetwork()), NameOf);

TEST(BeamSearch, FinishedHypothesisSurvivesLongerOnes) {
  // With a beam of one ended hypothesis and the rest going on, the ended one
  // is still there at the end, and without normalisation it may well be best.
  const auto model = SmallWorld(9, 7);
  const SearchOptions options = {
      .beam_size = 4, .n_best = 4, .normalize = 0, .max_length = 12};
  const auto sources = RandomSources(20, 8, 9, 8);
  int survived = 0;
  for (const auto& hypotheses : Search(*model, options, sources)) {
    ASSERT_EQ(hypotheses.size(), 4u);
    size_t longest = 0;
    for (const Hypothesis& h : hypotheses) {
      longest = std::max(longest, h.ids.size());
    }
    if (hypotheses[0].ids.size() < longest) ++survived;
  }
  EXPECT_GT(survived, 0);
}

TEST(BeamSearch, NBestIsTheBeginningOfTheBeam) {
  const auto model = SmallWorld(9, 9);
  const auto sources = RandomSources(6, 8, 9, 10);
  SearchOptions options = {.beam_size = 6, .n_best = 6, .max_length = 10};
  const auto all = Search(*model, options, sources);
  options.n_best = 2;
  const auto two = Search(*model, options, sources);
  for (size_t s = 0; s < sources.size(); ++s) {
    ASSERT_EQ(two[s].size(), 2u);
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(Same(two[s][i], all[s][i]));
    for (size_t i = 1; i < all[s].size(); ++i) {
      EXPECT_GE(all[s][i - 1].score, all[s][i].score);
      EXPECT_NE(all[s][i - 1].ids, all[s][i].ids);
    }
  }
}

// Field case sp-leak-output: control pieces do not come out of a search.
TEST(BeamSearch, SuppressedPiecesNeverAppear) {
  const auto model = SmallWorld(9, 11);
  const auto sources = RandomSources(10, 8, 9, 12);
  SearchOptions options = {.beam_size = 5, .n_best = 5, .max_length = 20};
  std::set<int32_t> free, suppressed;
  const auto collect = [&](std::set<int32_t>& ids) {
    for (const auto& hypotheses : Search(*model, options, sources)) {
      for (const Hypothesis& h : hypotheses) {
        ids.insert(h.ids.begin(), h.ids.end());
      }
    }
  };
  collect(free);
  options.suppressed = {0, 1, 5};
  collect(suppressed);
  EXPECT_TRUE(free.contains(0) || free.contains(1) || free.contains(5));
  for (const int32_t id : options.suppressed) {
    EXPECT_FALSE(suppressed.contains(id)) << id;
  }
  EXPECT_FALSE(free.contains(2));  // the end symbol is no piece of the text
}

TEST(BeamSearch, EveryHypothesisKeepsTheLimits) {
  const auto model = SmallWorld(77, 13);
  const auto sources = RandomSources(8, 9, 77, 14);
  const std::pair<int64_t, double> limits[] = {
      {1, 2}, {7, 2}, {1000, 0}, {1000, 0.5}, {1000, 3}};
  for (const auto& [max_length, factor] : limits) {
    const SearchOptions options = {.beam_size = 3,
                                   .n_best = 3,
                                   .max_length = max_length,
                                   .max_length_factor = factor};
    const auto found = Search(*model, options, sources);
    bool reached = false;
    for (size_t s = 0; s < sources.size(); ++s) {
      const double pieces = static_cast<double>(sources[s].size());
      const int64_t limit = std::min(
          max_length, static_cast<int64_t>(std::ceil(factor * pieces)) + 10);
      for (const Hypothesis& h : found[s]) {
        const auto length = static_cast<int64_t>(h.ids.size());
        EXPECT_LE(length, limit);
        EXPECT_EQ(h.token_log_probs.size(), h.ids.size() + 1);
        reached |= length == limit;
      }
    }
    EXPECT_TRUE(reached) << "no limit was met: " << max_length << ", "
                         << factor;
  }
}

TEST(BeamSearch, StopsAtTheLastPositionOfTheNetwork) {
  TransformerConfig config = SmallConfig();
  config.max_positions = 12;
  auto model = RandomNetwork(config, 15);
  model->Pack();
  const SearchOptions options = {.beam_size = 2, .n_best = 2};
  const auto found = Search(*model, options, {{5, 6, 7, 8, 9, 10, 11}});
  for (const Hypothesis& h : found[0]) EXPECT_LE(h.ids.size(), 11u);
}

// What a language model is given counts: with every position taken, all that
// is left is to end.
TEST(BeamSearch, ContinuesALanguageModelsPromptToTheLastPosition) {
  for (const NamedConfig& network : EveryArchitecture()) {
    if (!network.config.is_language_model()) continue;
    TransformerConfig config = network.config;
    config.max_positions = 12;
    const auto model = SmallWorld(77, 15, config);
    const SearchOptions options = {
        .beam_size = 2, .n_best = 2, .max_length_factor = 10};
    const int64_t special = PromptRows(config, 0);
    for (const int64_t left : {5, 1, 0}) {
      const auto pieces = static_cast<size_t>(12 - special - left);
      const auto found =
          Search(*model, options, {std::vector<int32_t>(pieces, 9)}).front();
      ASSERT_FALSE(found.empty());
      int64_t longest = 0;
      for (const Hypothesis& h : found) {
        longest = std::max(longest, static_cast<int64_t>(h.ids.size()));
        EXPECT_EQ(h.token_log_probs.size(), h.ids.size() + 1);
      }
      EXPECT_EQ(longest, left) << network << ", " << pieces << " pieces";
    }
  }
}

TEST(BeamSearch, SearchesUntiedVocabularies) {
  TransformerConfig config = SmallConfig();
  config.tied_embeddings = false;
  config.target_vocab = 13;
  auto model = RandomNetwork(config, 16);
  model->Pack();
  SearchOptions options = {.beam_size = 4, .n_best = 4, .max_length = 9};
  options.boundary = {.bos = 5, .eos = 7, .source_eos = 70};
  for (const auto& source : RandomSources(4, 9, 77, 17)) {
    const auto found = Search(*model, options, {source}).front();
    const auto slow = SlowBeamSearch(*model, options, source);
    ASSERT_EQ(found.size(), slow.size());
    for (size_t i = 0; i < slow.size(); ++i) {
      EXPECT_EQ(found[i].ids, slow[i].ids);
      EXPECT_EQ(found[i].log_prob, slow[i].log_prob);
    }
  }
}

}  // namespace
}  // namespace pipeformer
