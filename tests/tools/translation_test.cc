#include "tools/translation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

// Cross-attention of two layers with two heads: three source pieces and </s>,
// two target pieces and </s>. The heads of the last layer have the given rows.
ForcedResult Attention(const std::vector<float>& head_0,
                       const std::vector<float>& head_1) {
  ForcedResult forced;
  forced.token_log_probs.assign(3, -1);
  const std::vector<float> other(12, 0.25f);
  const auto add = [&](AttentionKind kind, int layer, int head,
                       const std::vector<float>& weights) {
    forced.attention.push_back({.kind = kind,
                                .layer = layer,
                                .head = head,
                                .queries = 3,
                                .keys = 4,
                                .weights = weights});
  };
  add(AttentionKind::kDecoder, 1, 0, other);
  add(AttentionKind::kCross, 0, 0, other);
  add(AttentionKind::kCross, 0, 1, other);
  add(AttentionKind::kCross, 1, 0, head_0);
  add(AttentionKind::kCross, 1, 1, head_1);
  return forced;
}

const std::vector<float> kHead0 = {0.5f, 0.1f, 0.1f, 0.3f,  //
                                   0.0f, 0.0f, 0.2f, 0.8f,  //
                                   0.9f, 0.1f, 0.0f, 0.0f};
const std::vector<float> kHead1 = {0.1f, 0.6f, 0.1f, 0.2f,  //
                                   0.1f, 0.1f, 0.0f, 0.8f,  //
                                   0.9f, 0.1f, 0.0f, 0.0f};

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

Pairs Positions(const std::vector<AlignedPair>& aligned) {
  Pairs pairs;
  for (const AlignedPair& p : aligned) pairs.emplace_back(p.source, p.target);
  return pairs;
}

TEST(Align, HardTakesTheLargestMeanOfTheHeadsWithoutEndSymbols) {
  // Means: 0.3 0.35 0.1 and 0.05 0.05 0.1; </s> has 0.8 and does not count.
  const auto aligned = Align(Attention(kHead0, kHead1),
                             {.search = {}, .alignment = AlignmentKind::kHard});
  EXPECT_EQ(Positions(aligned), (Pairs{{1, 0}, {2, 1}}));
  EXPECT_FLOAT_EQ(aligned[0].weight, 0.35f);
}

TEST(Align, SoftGivesEveryWeight) {
  const auto aligned = Align(Attention(kHead0, kHead1),
                             {.search = {}, .alignment = AlignmentKind::kSoft});
  EXPECT_EQ(Positions(aligned),
            (Pairs{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}));
  EXPECT_FLOAT_EQ(aligned[5].weight, 0.1f);
}

TEST(Align, ThresholdGivesWhatLiesAbove) {
  const auto at = [](double threshold) {
    return Positions(Align(Attention(kHead0, kHead1),
                           {.search = {},
                            .alignment = AlignmentKind::kThreshold,
                            .alignment_threshold = threshold}));
  };
  EXPECT_EQ(at(0.2), (Pairs{{0, 0}, {1, 0}}));
  EXPECT_EQ(at(0.34), (Pairs{{1, 0}}));
  EXPECT_EQ(at(0.9), Pairs{});
}

// Field case par-align-nan: a blank side gives an empty alignment.
TEST(Align, OfABlankSideIsEmpty) {
  ForcedResult no_source, no_target;
  no_source.token_log_probs.assign(3, -1);
  no_target.token_log_probs.assign(1, -1);
  no_source.attention.push_back({.kind = AttentionKind::kCross,
                                 .layer = 0,
                                 .head = 0,
                                 .queries = 3,
                                 .keys = 1,
                                 .weights = {1, 1, 1}});
  no_target.attention.push_back({.kind = AttentionKind::kCross,
                                 .layer = 0,
                                 .head = 0,
                                 .queries = 1,
                                 .keys = 4,
                                 .weights = {0.25f, 0.25f, 0.25f, 0.25f}});
  for (const AlignmentKind kind : {AlignmentKind::kHard, AlignmentKind::kSoft,
                                   AlignmentKind::kThreshold}) {
    const TranslationOptions options = {.search = {}, .alignment = kind};
    EXPECT_TRUE(Align(no_target, options).empty());
    EXPECT_TRUE(Align(no_source, options).empty());
  }
}

class Written : public testing::Test {
 protected:
  Written() : vocabularies_(JointVocabulary()) {
    Hypothesis h;
    const Sentence sentence = target().Encode("ab");
    h.ids = sentence.ids;
    h.token_log_probs.assign(h.ids.size() + 1, -0.5f);
    h.log_prob = -0.5 * static_cast<double>(h.ids.size() + 1);
    h.score = -1.25;
    sentence_.record = {{"id", 7}};
    sentence_.source = vocabularies_.source->Encode("cd");
    translation_.hypotheses = {h, h};
    translation_.aligned = {{{0, 0, 0.75f}, {2, 1, 0.1f}}, {}};
  }

  const Vocabulary& target() const { return *vocabularies_.target; }
  std::string Text(const TranslationOptions& options) const {
    return TranslationText(sentence_, translation_, target(), options);
  }

  VocabularyPair vocabularies_;
  SentenceToTranslate sentence_;
  Translation translation_;
};

TEST_F(Written, OneLineIsTheText) {
  translation_.hypotheses.resize(1);
  EXPECT_EQ(Text({}), "ab\n");
  EXPECT_EQ(Text({.search = {}, .alignment = AlignmentKind::kHard}),
            "ab ||| 0-0 2-1\n");
  EXPECT_EQ(Text({.search = {}, .word_scores = true}),
            "ab ||| WordScores= -0.5 -0.5 -0.5 -0.5\n");
}

TEST_F(Written, NBestListsAreMosesLines) {
  TranslationOptions options = {.search = {.n_best = 2}};
  EXPECT_EQ(Text(options),
            "7 ||| ab ||| Logprob= -2 ||| -1.25\n"
            "7 ||| ab ||| Logprob= -2 ||| -1.25\n");
  options.word_scores = true;
  options.alignment = AlignmentKind::kHard;
  EXPECT_EQ(Text(options),
            "7 ||| ab ||| Logprob= -2 WordScores= -0.5 -0.5 -0.5 -0.5 ||| "
            "-1.25 ||| 0-0 2-1\n"
            "7 ||| ab ||| Logprob= -2 WordScores= -0.5 -0.5 -0.5 -0.5 ||| "
            "-1.25 ||| \n");
}

// Field case empty-nbest-missing.
TEST_F(Written, ABlankSentenceKeepsItsLine) {
  translation_ = BlankTranslation();
  sentence_.source = {};
  EXPECT_EQ(Text({}), "\n");
  EXPECT_EQ(Text({.search = {.n_best = 3}}), "7 |||  ||| Logprob= 0 ||| 0\n");
}

TEST_F(Written, ARecordHasItsKeysAndThoseOfTheInput) {
  sentence_.record = {{"text", "cd"}, {"id", "x7"}, {"speaker", "B"}};
  const Json record = TranslationRecord(
      sentence_, translation_, target(),
      {.search = {}, .alignment = AlignmentKind::kSoft, .word_scores = true});
  EXPECT_EQ(record["id"], "x7");
  EXPECT_EQ(record["speaker"], "B");
  EXPECT_FALSE(record.contains("text"));
  EXPECT_EQ(record["source"]["text"], "cd");
  const Json& h = record["hypotheses"][0];
  EXPECT_EQ(h["text"], "ab");
  EXPECT_EQ(h["length"], 4);
  EXPECT_EQ(h["logprob"], -2);
  EXPECT_EQ(h["score"], -1.25);
  EXPECT_EQ(h["ids"].size(), 3u);
  EXPECT_EQ(h["tokens"].size(), 3u);
  EXPECT_EQ(h["token_logprobs"].size(), 4u);
  EXPECT_EQ(h["alignment"].dump(), "[[0,0,0.75],[2,1,0.1]]");
}

// Field case sp-leak-output.
TEST(FitSearch, SuppressesWhatIsNoText) {
  const VocabularyPair vocabularies = JointVocabulary();
  const Vocabulary& v = *vocabularies.target;
  const SearchOptions options =
      FitSearch({.search = {.beam_size = 9}},
                *NewNetwork(ConfigFor(vocabularies), 1), vocabularies);
  EXPECT_EQ(options.max_length, 39);  // positions, without the end symbol
  EXPECT_EQ(options.beam_size, 9);
  EXPECT_EQ(options.boundary.bos, v.bos_id());
  EXPECT_EQ(options.boundary.eos, v.eos_id());
  EXPECT_EQ(options.suppressed, (std::vector<int32_t>{v.unk_id(), v.bos_id()}));
}

}  // namespace
}  // namespace pipeformer
