// What the golden file leaves open: names, limits, and the second reading of
// references by TER.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/ter.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

TEST(MetricNames, AreSacreBleus) {
  EXPECT_EQ(Bleu({}).Name(), "BLEU");
  EXPECT_EQ(Chrf({}).Name(), "chrF2");
  EXPECT_EQ(Chrf({.word_order = 2, .beta = 3}).Name(), "chrF3++");
  EXPECT_EQ(Ter({}).Name(), "TER");
}

TEST(MetricOptions, UnknownNamesAndZeroOrdersAreUsageErrors) {
  EXPECT_THROW(BleuTokenizerNamed("v13a"), Error);
  EXPECT_THROW(BleuSmoothingNamed("exponential"), Error);
  EXPECT_THROW(Bleu({.smooth_value = {}, .max_ngram_order = 0}), Error);
  EXPECT_THROW(Chrf({.char_order = 0}), Error);
  EXPECT_THROW(Chrf({.beta = 0}), Error);
}

TEST(MetricOptions, EveryNameLeadsBack) {
  for (const char* name : {"none", "13a", "intl", "char", "zh"}) {
    EXPECT_EQ(BleuTokenizerName(BleuTokenizerNamed(name)), name);
  }
}

// sacreBLEU 2.6.0 gives 0 edits for the first pair and 2 for the second.
TEST(TerTokenizer, ReferencesAreNormalisedTwice) {
  const Ter ter({.normalized = true, .asian_support = true});
  const auto counter = ter.MakeCounter();
  std::vector<double> statistics(2);
  const std::string_view unsplit = "it's。 now";
  const std::string_view split = "it 's 。 now";
  counter->Count({split, {&unsplit, 1}}, statistics);
  EXPECT_EQ(statistics, (std::vector<double>{0, 4}));
  counter->Count({unsplit, {&split, 1}}, statistics);
  EXPECT_EQ(statistics, (std::vector<double>{2, 4}));
}

TEST(TerTokenizer, PartsWesternAndAsianMarks) {
  const TerTokenizerOptions options = {.normalized = true,
                                       .asian_support = true};
  EXPECT_EQ(EncodeUtf8(TokenizeForTer(options, "It's 3.5, \"ok\"。 1-2")),
            "it 's 3.5 , \" ok \" 。 1 - 2");
  EXPECT_EQ(EncodeUtf8(TokenizeForTer({.case_sensitive = true}, " A  b\r")),
            "A b");
}

TEST(FormatFixed, IsCorrectlyRounded) {
  EXPECT_EQ(FormatFixed(2.675, 2), "2.67");  // It is 2.67499999...
  EXPECT_EQ(FormatFixed(0.125, 2), "0.12");  // A tie goes to the even digit.
  EXPECT_EQ(FormatFixed(100, 1), "100.0");
}

TEST(Bleu, ReferenceLengthIsTheClosestAndOfEqualsTheShorter) {
  const Bleu bleu({});
  const auto counter = bleu.MakeCounter();
  std::vector<double> statistics(bleu.num_statistics());
  const std::vector<std::string_view> references = {"a b c d", "a b", "x"};
  counter->Count({"a b c", references}, statistics);
  EXPECT_EQ(statistics[1], 2);
}

}  // namespace
}  // namespace pipeformer
