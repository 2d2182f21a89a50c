#include "lib/metrics/corpus.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/ter.h"

namespace pipeformer {
namespace {

// Three references for the first segments, some missing; the numbers are
// sacreBLEU 2.6.0's.
Corpus CorpusWithMissingReferences() {
  const auto none = std::nullopt;
  return {
      .hypotheses = {"the cat was on a mat", "hello my good friend",
                     "a b c d e"},
      .references = {{"the cat sat on the mat", "hello there my friend", none},
                     {"a cat was on the mat", none, "a b c d f"},
                     {none, none, "b c d e"}}};
}

double CorpusScore(const Metric& metric, const Corpus& corpus) {
  return metric.Score(CountStatistics(metric, corpus).Sum());
}

TEST(Corpus, MissingReferencesDoNotCount) {
  const Corpus corpus = CorpusWithMissingReferences();
  EXPECT_NEAR(CorpusScore(Bleu({}), corpus), 53.29205279183315, 1e-9);
  EXPECT_NEAR(CorpusScore(Chrf({}), corpus), 49.49663843250348, 1e-9);
  EXPECT_NEAR(CorpusScore(Chrf({.word_order = 2}), corpus), 54.159234836364966,
              1e-9);
  EXPECT_NEAR(CorpusScore(Ter({}), corpus), 34.48275862068966, 1e-9);
}

TEST(Corpus, VaryingNumberOfReferencesIsCalledVar) {
  Corpus corpus = CorpusWithMissingReferences();
  EXPECT_EQ(NumReferences(corpus), "var");
  corpus.references = {corpus.references[0]};
  corpus.references[0][2] = "x";
  EXPECT_EQ(NumReferences(corpus), "1");
}

void ExpectBadData(const Corpus& corpus, const std::string& part) {
  try {
    CheckCorpus(corpus);
    FAIL() << "accepted, expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what();
  }
}

TEST(Corpus, RefusesWhatCannotBeScored) {
  ExpectBadData({.hypotheses = {}, .references = {{}}}, "no segments");
  ExpectBadData({.hypotheses = {"a"}, .references = {}}, "no references");
  ExpectBadData({.hypotheses = {"a", "b"}, .references = {{"a", "b"}, {"a"}}},
                "reference stream 2 has 1 segments, the hypotheses 2");
  ExpectBadData({.hypotheses = {"a", "b"}, .references = {{"a", std::nullopt}}},
                "segment 2 has no reference");
  ExpectBadData({.hypotheses = {std::string(kMaxSegmentBytes + 1, 'a')},
                 .references = {{"a"}}},
                "the limit is 67108864");
  CheckCorpus(CorpusWithMissingReferences());
}

TEST(Corpus, ThreadsDoNotChangeTheStatistics) {
  Corpus corpus;
  corpus.references.resize(1);
  for (int i = 0; i < 101; ++i) {
    const std::string number = std::to_string(i * i);
    corpus.hypotheses.push_back("the number " + number + ", once more");
    corpus.references[0].push_back("number " + number + " once again");
  }
  const Chrf chrf({.word_order = 2});
  const StatisticsTable one = CountStatistics(chrf, corpus, 1);
  for (const size_t num_threads : {2, 3, 64, 200}) {
    const StatisticsTable many = CountStatistics(chrf, corpus, num_threads);
    ASSERT_EQ(many.num_segments(), one.num_segments());
    for (size_t i = 0; i < one.num_segments(); ++i) {
      EXPECT_TRUE(std::equal(one.row(i).begin(), one.row(i).end(),
                             many.row(i).begin()));
    }
  }
}

TEST(StatisticsTable, SumsRowsAsOftenAsNamed) {
  StatisticsTable table(3, 2);
  for (size_t i = 0; i < 3; ++i) {
    table.row(i)[0] = static_cast<double>(i + 1);
    table.row(i)[1] = 10;
  }
  EXPECT_EQ(table.Sum(), (std::vector<double>{6, 30}));
  const std::vector<size_t> sample = {2, 2, 0};
  EXPECT_EQ(table.Sum(sample), (std::vector<double>{7, 30}));
}

}  // namespace
}  // namespace pipeformer
