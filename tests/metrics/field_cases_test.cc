// Faults that users of such metrics have met. Each test names its case.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/corpus.h"
#include "lib/metrics/ter.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

using Texts = std::vector<std::string>;

Corpus MakeCorpus(const Texts& hypotheses,
                  const std::vector<Texts>& references) {
  Corpus corpus{.hypotheses = hypotheses, .references = {}};
  for (const Texts& stream : references) {
    corpus.references.emplace_back(stream.begin(), stream.end());
  }
  return corpus;
}

std::vector<double> Sums(const Metric& metric, const Texts& hypotheses,
                         const std::vector<Texts>& references) {
  const Corpus corpus = MakeCorpus(hypotheses, references);
  CheckCorpus(corpus);
  return CountStatistics(metric, corpus).Sum();
}

double Score(const Metric& metric, const Texts& hypotheses,
             const std::vector<Texts>& references) {
  return metric.Score(Sums(metric, hypotheses, references));
}

// bleu-no-match
TEST(FieldCases, NoMatchScoresZeroWhateverTheSmoothing) {
  for (const char* name : {"exp", "floor", "add-k", "none"}) {
    const Bleu bleu({.smoothing = BleuSmoothingNamed(name),
                     .smooth_value = {},
                     .effective_order = true});
    EXPECT_EQ(Score(bleu, {"left"}, {{"right"}}), 0) << name;
  }
}

// bleu-empty-dropped
TEST(FieldCases, EmptyHypothesesStayAndScoreZero) {
  const Bleu bleu({});
  const auto sums =
      Sums(bleu, {"", "", ""}, {{"a b", "c d", "e f"}, {"g", "h", "i"}});
  EXPECT_EQ(bleu.Compute(sums).score, 0);
  EXPECT_EQ(bleu.Compute(sums).hypothesis_length, 0);
}

// bleu-transposed
TEST(FieldCases, ReferencesGivenTheWrongWayRoundAreRefused) {
  const Texts hypotheses = {"A B C D", "B C D E", "C D E F"};
  EXPECT_THROW(
      Sums(Bleu({}), hypotheses, {{"A B C D"}, {"B C D E"}, {"C D E F"}}),
      Error);
  EXPECT_EQ(Score(Bleu({}), hypotheses, {hypotheses}), 100);
  EXPECT_NEAR(Score(Bleu({}), {"", "B C D E", "C D E F"}, {hypotheses}),
              60.6531, 5e-5);
}

// bleu-100-format
TEST(FieldCases, PerfectScoreIsExactly100) {
  const double score = Score(Bleu({}), {"a b c d e"}, {{"a b c d e"}});
  EXPECT_EQ(score, 100);
  EXPECT_EQ(FormatFixed(score, 2), "100.00");
}

// bleu-intl
TEST(FieldCases, IntlKeepsTheDotAfterAFinalYear) {
  const Bleu intl({.tokenizer = BleuTokenizer::kIntl, .smooth_value = {}});
  const auto sums = Sums(intl, {"It was 1999."}, {{"It was 1999 ."}});
  EXPECT_EQ(intl.Score(sums), 0);
  EXPECT_EQ(intl.Compute(sums).hypothesis_length, 3);
  EXPECT_EQ(Score(Bleu({}), {"It was 1999."}, {{"It was 1999 ."}}), 100);
  EXPECT_EQ(EncodeUtf8(intl.Preprocess("&quot;")), "& quot ;");
}

// bleu-zh-ranges
TEST(FieldCases, ZhKeepsTheRangesThatPrintedScoresDependOn) {
  const Bleu zh({.tokenizer = BleuTokenizer::kZh, .smooth_value = {}});
  const auto sums = Sums(zh, {"他说“好”→对–吧"}, {{"他说 “好” → 对 – 吧"}});
  EXPECT_EQ(zh.Score(sums), 100);
  EXPECT_EQ(zh.Compute(sums).hypothesis_length, 9);
  EXPECT_EQ(EncodeUtf8(zh.Preprocess("\U00020000\U00020001")),
            "\U00020000\U00020001");
}

// bleu-orders
TEST(FieldCases, ShortSentencesAmongLongOnes) {
  const Bleu bleu({});
  const auto sums = Sums(bleu, {"a b c d e f", "x"}, {{"a b c d e f", "y"}});
  EXPECT_NEAR(bleu.Score(sums), 96.2195, 5e-5);
  EXPECT_NEAR(bleu.Compute(sums).precisions[0], 85.71, 5e-3);
  EXPECT_EQ(bleu.Compute(sums).precisions[3], 100);
}

// bleu-tsv, the part of the library: a tab is white space.
TEST(FieldCases, TabInAHypothesisIsWhiteSpace) {
  EXPECT_EQ(Score(Bleu({}), {"the cat\tsat on the mat"},
                  {{"the cat sat on the mat"}}),
            100);
}

// chrf-zero-dropped
TEST(FieldCases, SentencesWithoutMatchCountInChrf) {
  EXPECT_NEAR(Score(Chrf({}), {"the cat sat", "zzzz qqqq"},
                    {{"the cat sat", "hello world"}}),
              47.6531, 5e-5);
}

// chrf-string-ref
TEST(FieldCases, AReferenceIsATextNotItsCharacters) {
  EXPECT_EQ(Score(Chrf({}), {"good day"}, {{"good day"}}), 100);
  EXPECT_NEAR(Score(Chrf({}), {"good day"}, {{"g"}}), 45.4545, 5e-5);
}

// chrf-spaces
TEST(FieldCases, TextsThatDifferInSpacesOnly) {
  EXPECT_EQ(Score(Chrf({}), {"k l m"}, {{"klm"}}), 100);
  EXPECT_NEAR(
      Score(Chrf({.smoothing = ChrfSmoothing::kEpsilon}), {"k l m"}, {{"klm"}}),
      50, 1e-9);
  EXPECT_NEAR(
      Score(Chrf({.whitespace = ChrfWhitespace::kKept}), {"k l m"}, {{"klm"}}),
      29.411764705882348, 1e-9);
}

// chrf-bracket
TEST(FieldCases, ChrfWordsLoseOneMarkOnly) {
  std::vector<std::u32string_view> words;
  SplitChrfWords(U"(hi) ...no! .y x", &words);
  EXPECT_EQ(words, (std::vector<std::u32string_view>{U"(hi", U")", U"...no",
                                                     U"!", U".", U"y", U"x"}));
  EXPECT_NEAR(Score(Chrf({.word_order = 2}), {"(hi) \"yes\", ...no! x. .y"},
                    {{"(hi ) \"yes\" , ... no ! x . . y"}}),
              85.9060, 5e-5);
}

// ter-empty-ref
TEST(FieldCases, TerOfAnEmptyReference) {
  EXPECT_EQ(Score(Ter({}), {"a b"}, {{""}}), 100);
  EXPECT_EQ(Score(Ter({}), {""}, {{""}}), 0);
}

// ter-multi
TEST(FieldCases, TerTakesFewestEditsOverAverageLength) {
  const auto sums =
      Sums(Ter({}), {"the cat was on a mat", "hello my good friend"},
           {{"the cat sat on the mat", "hello there my friend"},
            {"a cat was on the mat", "hi my friend"},
            {"cat on mat", "hello to you my old friend"}});
  EXPECT_EQ(sums[0], 4);
  EXPECT_NEAR(sums[1], 9.3333, 5e-5);
  EXPECT_NEAR(Ter({}).Score(sums), 42.8571, 5e-5);
}

}  // namespace
}  // namespace pipeformer
