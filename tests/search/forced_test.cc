// Forced decoding of what a search found gives the search's own numbers; the
// attention it gives is that of the whole network.
#include "lib/search/forced.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lib/search/beam_search.h"
#include "tests/nn/test_network.h"
#include "tests/search/search_twin.h"

namespace pipeformer {
namespace {

class Forced : public testing::TestWithParam<NamedConfig> {
 protected:
  Forced() : model_(RandomNetwork(GetParam().config, 31)) {
    model_->Pack(GetParam().precision);
    sources_ = RandomSources(15, 20, 77, 32);
    const SearchOptions options = {
        .beam_size = 3, .n_best = 3, .max_length = 14};
    results_ = Search(*model_, options, sources_);
    for (size_t s = 0; s < sources_.size(); ++s) {
      for (const Hypothesis& h : results_[s]) {
        pairs_.push_back({sources_[s], h.ids});
        found_.push_back(&h);
      }
    }
  }

  std::unique_ptr<Transformer> model_;
  std::vector<std::vector<int32_t>> sources_;
  std::vector<std::vector<Hypothesis>> results_;
  std::vector<ForcedPair> pairs_;
  std::vector<const Hypothesis*> found_;
};

TEST_P(Forced, GivesTheSearchsNumbersToTheLastBit) {
  ForcedDecoder decoder(*model_, {});
  const auto forced = decoder.Run(pairs_, {});
  ASSERT_EQ(forced.size(), pairs_.size());
  for (size_t i = 0; i < forced.size(); ++i) {
    EXPECT_EQ(forced[i].token_log_probs, found_[i]->token_log_probs);
    EXPECT_EQ(forced[i].log_prob, found_[i]->log_prob);
    EXPECT_TRUE(forced[i].attention.empty());
  }
}

TEST_P(Forced, APairDoesNotDependOnTheOthersNorOnTheProbe) {
  ForcedDecoder decoder(*model_, {});
  const auto together = decoder.Run(pairs_, {.attention = WantAttention::kYes});
  for (size_t i = 0; i < pairs_.size(); i += 7) {
    const auto alone =
        decoder.Run({&pairs_[i], 1}, {.attention = WantAttention::kYes});
    EXPECT_EQ(alone[0].token_log_probs, together[i].token_log_probs);
    EXPECT_EQ(together[i].token_log_probs, found_[i]->token_log_probs);
    ASSERT_EQ(alone[0].attention.size(), together[i].attention.size());
    for (size_t m = 0; m < alone[0].attention.size(); ++m) {
      EXPECT_EQ(alone[0].attention[m].weights,
                together[i].attention[m].weights);
    }
  }
}

TEST_P(Forced, AttentionComesByKindLayerAndHeadWithRowsThatSumToOne) {
  ForcedDecoder decoder(*model_, {});
  const auto forced = decoder.Run(pairs_, {.attention = WantAttention::kYes});
  for (size_t i = 0; i < forced.size(); ++i) {
    const TransformerConfig& config = model_->config();
    const bool decoder_alone = config.is_language_model();
    const auto pieces = static_cast<int64_t>(pairs_[i].source.size());
    const int64_t source = pieces + 1;
    const int64_t target = PromptRows(config, pieces) +
                           static_cast<int64_t>(pairs_[i].target.size());
    const auto& attention = forced[i].attention;
    ASSERT_EQ(attention.size(), (decoder_alone ? 1u : 3u) * 2 * 3);
    for (size_t m = 0; m < attention.size(); ++m) {
      const AttentionMatrix& a = attention[m];
      const bool encoder = a.kind == AttentionKind::kEncoder;
      const bool decoder_self = a.kind == AttentionKind::kDecoder;
      EXPECT_EQ(static_cast<size_t>(a.kind), m / 6 + (decoder_alone ? 1 : 0));
      EXPECT_EQ(a.layer, static_cast<int>(m / 3 % 2));
      EXPECT_EQ(a.head, static_cast<int>(m % 3));
      EXPECT_EQ(a.queries, encoder ? source : target);
      EXPECT_EQ(a.keys, decoder_self ? target : source);
      ASSERT_EQ(a.weights.size(), static_cast<size_t>(a.queries * a.keys));
      for (int64_t q = 0; q < a.queries; ++q) {
        double sum = 0;
        for (int64_t k = 0; k < a.keys; ++k) {
          const float w = a.weights[static_cast<size_t>(q * a.keys + k)];
          EXPECT_GE(w, 0);
          if (decoder_self && k > q) {
            EXPECT_EQ(w, 0);
          }
          sum += static_cast<double>(w);
        }
        EXPECT_NEAR(sum, 1, 1e-5);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Forced,
                         testing::ValuesIn(InEveryPrecision(EveryNetwork())),
                         NameOf);

class ForcedEmpty : public testing::TestWithParam<NamedConfig> {};

TEST_P(ForcedEmpty, SidesHaveProbabilities) {
  auto model = RandomNetwork(GetParam().config, 33);
  model->Pack();
  const std::vector<int32_t> some = {5, 6};
  const ForcedPair pairs[] = {{{}, {}}, {some, {}}, {{}, some}};
  const auto forced =
      ForcedDecoder(*model, {}).Run(pairs, {.attention = WantAttention::kYes});
  EXPECT_EQ(forced[0].token_log_probs.size(), 1u);
  EXPECT_EQ(forced[1].token_log_probs.size(), 1u);
  EXPECT_EQ(forced[2].token_log_probs.size(), 3u);
  for (const ForcedResult& r : forced) {
    EXPECT_TRUE(std::isfinite(r.log_prob));
    EXPECT_LT(r.log_prob, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, ForcedEmpty,
                         testing::ValuesIn(EveryArchitecture()), NameOf);

}  // namespace
}  // namespace pipeformer
