// Every number that sacreBLEU 2.6.0 gives for the corpora of
// data/sacrebleu_golden.jsonl: one test a row and metric, within 1e-9.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/corpus.h"
#include "lib/metrics/ter.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;

std::vector<json> ReadRows() {
  std::ifstream file("tests/metrics/data/sacrebleu_golden.jsonl");
  std::vector<json> rows;
  for (std::string line; std::getline(file, line);) {
    rows.push_back(json::parse(line));
  }
  return rows;
}

Corpus ReadCorpus(const json& row) {
  Corpus corpus;
  corpus.hypotheses = row["hyps"].get<std::vector<std::string>>();
  for (const json& stream : row["refs"]) {
    auto& texts = corpus.references.emplace_back();
    for (const json& text : stream) {
      texts.push_back(text.is_null() ? std::nullopt
                                     : std::optional(text.get<std::string>()));
    }
  }
  return corpus;
}

std::string SignatureOf(const Metric& metric, const Corpus& corpus) {
  return FormatSignature(metric.MakeSignature(NumReferences(corpus)));
}

void ExpectNear(const json& expected, const std::vector<double>& actual,
                const char* what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(expected[i].get<double>(), actual[i], kTolerance)
        << what << " of order " << i + 1;
  }
}

BleuOptions ReadBleuOptions(const json& options) {
  BleuOptions result;
  result.tokenizer = BleuTokenizerNamed(options["tokenize"].get<std::string>());
  result.lowercase = options["lowercase"];
  result.smoothing =
      BleuSmoothingNamed(options["smooth_method"].get<std::string>());
  if (!options["smooth_value"].is_null()) {
    result.smooth_value = options["smooth_value"].get<double>();
  }
  result.effective_order = options["effective_order"];
  result.max_ngram_order = options["max_ngram_order"];
  return result;
}

ChrfOptions ReadChrfOptions(const json& options) {
  ChrfOptions result;
  result.char_order = options["char_order"];
  result.word_order = options["word_order"];
  result.beta = options["beta"];
  result.lowercase = options["lowercase"];
  if (options["whitespace"]) result.whitespace = ChrfWhitespace::kKept;
  if (options["eps_smoothing"]) result.smoothing = ChrfSmoothing::kEpsilon;
  return result;
}

class Golden : public testing::TestWithParam<json> {
 protected:
  void ExpectChrf(const char* key) {
    const Corpus corpus = ReadCorpus(GetParam());
    const Chrf chrf(ReadChrfOptions(GetParam()["options"][key]));
    const json& expected = GetParam()[key];
    const auto sums = CountStatistics(chrf, corpus).Sum();
    EXPECT_NEAR(expected["score"].get<double>(), chrf.Score(sums), kTolerance);
    std::vector<double> flat;
    for (const json& order : expected["stats_hyp_ref_match"]) {
      for (const json& number : order) flat.push_back(number);
    }
    EXPECT_EQ(flat, sums);
    EXPECT_EQ(expected["signature"], SignatureOf(chrf, corpus));
  }
};

TEST_P(Golden, Bleu) {
  const Corpus corpus = ReadCorpus(GetParam());
  const Bleu bleu(ReadBleuOptions(GetParam()["options"]["bleu"]));
  const json& expected = GetParam()["bleu"];
  const auto sums = CountStatistics(bleu, corpus).Sum();
  const BleuScore score = bleu.Compute(sums);
  EXPECT_NEAR(expected["score"].get<double>(), score.score, kTolerance);
  ExpectNear(expected["counts"], score.counts, "counts");
  ExpectNear(expected["totals"], score.totals, "totals");
  ExpectNear(expected["precisions"], score.precisions, "precisions");
  EXPECT_NEAR(expected["bp"].get<double>(), score.brevity_penalty, kTolerance);
  EXPECT_NEAR(expected["ratio"].get<double>(), score.ratio, kTolerance);
  EXPECT_EQ(expected["sys_len"], score.hypothesis_length);
  EXPECT_EQ(expected["ref_len"], score.reference_length);
  EXPECT_EQ(expected["signature"], SignatureOf(bleu, corpus));
  EXPECT_EQ(expected["line_w2"],
            "BLEU = " + FormatFixed(score.score, 2) + " " + bleu.Details(sums));
}

TEST_P(Golden, TokenizedText) {
  const Corpus corpus = ReadCorpus(GetParam());
  const Bleu bleu(ReadBleuOptions(GetParam()["options"]["bleu"]));
  const json& expected = GetParam()["tokenized"];
  for (size_t i = 0; i < corpus.hypotheses.size(); ++i) {
    EXPECT_EQ(expected["hyps"][i],
              EncodeUtf8(bleu.Preprocess(corpus.hypotheses[i])));
  }
  for (size_t stream = 0; stream < corpus.references.size(); ++stream) {
    for (size_t i = 0; i < corpus.hypotheses.size(); ++i) {
      EXPECT_EQ(expected["refs"][stream][i],
                EncodeUtf8(bleu.Preprocess(*corpus.references[stream][i])));
    }
  }
}

TEST_P(Golden, Chrf) { ExpectChrf("chrf"); }

TEST_P(Golden, ChrfPlusPlus) { ExpectChrf("chrfpp"); }

TEST_P(Golden, Ter) {
  const Corpus corpus = ReadCorpus(GetParam());
  const json& options = GetParam()["options"]["ter"];
  const Ter ter({.normalized = options["normalized"],
                 .no_punct = options["no_punct"],
                 .asian_support = options["asian_support"],
                 .case_sensitive = options["case_sensitive"]});
  const json& expected = GetParam()["ter"];
  const auto sums = CountStatistics(ter, corpus).Sum();
  EXPECT_NEAR(expected["score"].get<double>(), ter.Score(sums), kTolerance);
  EXPECT_EQ(expected["num_edits"], sums[0]);
  EXPECT_NEAR(expected["ref_length"].get<double>(), sums[1], kTolerance);
  EXPECT_EQ(expected["signature"], SignatureOf(ter, corpus));
}

// Without this, a file that is not found would pass as no test at all.
TEST(GoldenFile, HasAllRows) { EXPECT_EQ(ReadRows().size(), 69u); }

INSTANTIATE_TEST_SUITE_P(
    SacreBleu, Golden, testing::ValuesIn(ReadRows()), [](const auto& row) {
      std::string name;
      for (const char c : row.param["id"].template get<std::string>()) {
        name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      }
      return name;
    });

}  // namespace
}  // namespace pipeformer
