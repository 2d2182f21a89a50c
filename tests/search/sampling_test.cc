#include "lib/search/sampling.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "lib/base/random.h"
#include "tests/search/search_twin.h"
#include "tests/search/toy_world.h"

namespace pipeformer {
namespace {

constexpr double kHalf = 0.5, kThird = 0.3, kFifth = 0.2;

const std::array<float, 3> kLogits = {static_cast<float>(std::log(kThird)),
                                      static_cast<float>(std::log(kHalf)),
                                      static_cast<float>(std::log(kFifth))};

// The share of each piece among many draws at even steps of chance.
std::vector<double> Shares(std::span<const float> logits,
                           const SamplingOptions& options) {
  constexpr int kDraws = 1000;
  std::vector<double> shares(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    const int32_t id = SamplePiece(logits, options, (i + 0.5) / kDraws);
    shares.at(static_cast<size_t>(id)) += 1.0 / kDraws;
  }
  return shares;
}

void ExpectShares(const SamplingOptions& options,
                  const std::vector<double>& expected) {
  const auto shares = Shares(kLogits, options);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(shares[i], expected[i], 2e-3) << i;
  }
}

TEST(SamplePiece, DrawsByProbability) {
  ExpectShares({.kind = SamplingKind::kFull}, {kThird, kHalf, kFifth});
}

TEST(SamplePiece, TopKKeepsTheMostProbable) {
  ExpectShares({.kind = SamplingKind::kTopK, .k = 2},
               {kThird / 0.8, kHalf / 0.8, 0});
  ExpectShares({.kind = SamplingKind::kTopK, .k = 1}, {0, 1, 0});
  ExpectShares({.kind = SamplingKind::kTopK, .k = 99}, {kThird, kHalf, kFifth});
}

TEST(SamplePiece, NucleusKeepsTheFewestThatReachP) {
  ExpectShares({.kind = SamplingKind::kNucleus, .p = 0.4}, {0, 1, 0});
  ExpectShares({.kind = SamplingKind::kNucleus, .p = 0.6},
               {kThird / 0.8, kHalf / 0.8, 0});
  ExpectShares({.kind = SamplingKind::kNucleus, .p = 1},
               {kThird, kHalf, kFifth});
}

TEST(SamplePiece, TemperatureSharpensAndFlattens) {
  const double sum = 0.09 + 0.25 + 0.04;
  ExpectShares({.kind = SamplingKind::kFull, .temperature = 0.5},
               {0.09 / sum, 0.25 / sum, 0.04 / sum});
  ExpectShares({.kind = SamplingKind::kFull, .temperature = 1e6},
               {1.0 / 3, 1.0 / 3, 1.0 / 3});
}

// Field case smp-t0.
TEST(SamplePiece, TemperatureZeroTakesTheMostProbable) {
  for (const auto kind :
       {SamplingKind::kFull, SamplingKind::kTopK, SamplingKind::kNucleus}) {
    ExpectShares({.kind = kind, .k = 3, .p = 1, .temperature = 0}, {0, 1, 0});
  }
}

TEST(SamplePiece, HiddenPiecesAreNeverDrawn) {
  const float hidden = -HUGE_VALF;
  const std::array<float, 3> some = {hidden, 1, hidden};
  const std::array<float, 2> none = {hidden, hidden};
  for (const auto kind :
       {SamplingKind::kFull, SamplingKind::kTopK, SamplingKind::kNucleus}) {
    const SamplingOptions options{.kind = kind, .k = 3};
    for (const double chance : {0.0, 0.5, 0.999999}) {
      EXPECT_EQ(SamplePiece(some, options, chance), 1);
      EXPECT_EQ(SamplePiece(none, options, chance), -1);
    }
  }
}

TEST(SamplePiece, HugeLogitsDoNotOverflow) {
  const std::array<float, 3> logits = {3e4f, 3e4f, -3e4f};
  const auto shares = Shares(logits, {.kind = SamplingKind::kFull});
  EXPECT_NEAR(shares[0], 0.5, 2e-3);
  EXPECT_NEAR(shares[1], 0.5, 2e-3);
}

class SampledSearch : public testing::Test {
 protected:
  // One hypothesis of each of 100 sentences of the toy world.
  std::vector<Hypothesis> Draw(SamplingOptions sampling) {
    const SearchOptions options{
        .n_best = 1, .sampling = sampling, .max_length = 20};
    std::vector<Hypothesis> drawn;
    for (auto& found : Search(*world_, options, sources_)) {
      drawn.push_back(found.at(0));
    }
    return drawn;
  }

  std::unique_ptr<Transformer> world_ =
      ToyWorld({.end = kHalf, .a = kThird, .b = kFifth});
  std::vector<std::vector<int32_t>> sources_{100, {kA}};
};

// Field case smp-logprob: the model's own probability, whatever the
// temperature.
TEST_F(SampledSearch, LogProbabilitiesAreThoseOfTemperatureOne) {
  const std::map<int32_t, double> log_probs = {{kA, std::log(kThird)},
                                               {kB, std::log(kFifth)}};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    for (const Hypothesis& h :
         Draw({.kind = SamplingKind::kFull, .temperature = temperature})) {
      double expected = std::log(kHalf);
      for (const int32_t id : h.ids) expected += log_probs.at(id);
      EXPECT_NEAR(h.log_prob, expected, 1e-5);
    }
  }
}

// Field case smp-seed-at-t1.
TEST_F(SampledSearch, DiffersBySeedAndBySentence) {
  std::set<std::vector<int32_t>> of_sentences, of_seeds;
  for (const auto& h : Draw({.kind = SamplingKind::kFull, .seed = 7})) {
    of_sentences.insert(h.ids);
  }
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    of_seeds.insert(Draw({.kind = SamplingKind::kFull, .seed = seed})[0].ids);
  }
  EXPECT_GE(of_sentences.size(), 5u);
  EXPECT_GE(of_seeds.size(), 5u);
}

// Half of the sentences end at once, 3 of 10 begin with a.
TEST_F(SampledSearch, FollowsTheProbabilities) {
  int empty = 0, a = 0, all = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const auto& h : Draw({.kind = SamplingKind::kFull, .seed = seed})) {
      ++all;
      empty += h.ids.empty();
      a += !h.ids.empty() && h.ids[0] == kA;
    }
  }
  EXPECT_EQ(all, 2000);
  const double deviation = std::sqrt(kHalf * kHalf / all);
  EXPECT_NEAR(empty / static_cast<double>(all), kHalf, 4 * deviation);
  EXPECT_NEAR(a / static_cast<double>(all), kThird, 4 * deviation);
}

// Field case smp-seed-ignored, within one worker; the programs' cases vary
// the threads.
TEST_F(SampledSearch, DoesNotDependOnTheBatch) {
  const SamplingOptions sampling{.kind = SamplingKind::kFull, .seed = 7};
  SearchOptions options{.n_best = 3, .sampling = sampling, .max_length = 20};
  const auto together = Search(*world_, options, sources_);
  options.mini_batch_words = 1;
  const auto alone = Search(*world_, options, sources_);
  for (size_t s = 0; s < sources_.size(); ++s) {
    ASSERT_EQ(together[s].size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(Same(together[s][i], alone[s][i]));
    }
  }
}

// Field case smp-topk1.
TEST(Sampling, TopOneIsGreedy) {
  const auto model = SmallWorld(9, 7);
  const auto sources = RandomSources(20, 8, 9, 8);
  const SearchOptions greedy{.beam_size = 1, .max_length = 12};
  const auto expected = Search(*model, greedy, sources);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SearchOptions options = greedy;
    options.sampling = {.kind = SamplingKind::kTopK, .k = 1, .seed = seed};
    const auto drawn = Search(*model, options, sources);
    for (size_t s = 0; s < sources.size(); ++s) {
      EXPECT_TRUE(Same(drawn[s].at(0), expected[s].at(0)));
    }
  }
}

}  // namespace
}  // namespace pipeformer
