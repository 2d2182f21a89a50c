// `score --references` against what sacreBLEU 2.6.0's command prints for the
// bytes of data/sacrebleu_cli_golden.jsonl, and what it does otherwise on
// purpose.
#include "tools/score_metrics.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

using nlohmann::json;

std::string DecodeBase64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes.push_back(static_cast<char>(bits >> num_bits & 0xff));
  }
  return bytes;
}

std::string TestFile(const std::string& name) {
  return testing::TempDir() + "/score_metrics_" + name;
}

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = TestFile(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string output;
  std::string message;
};

struct Job {
  std::string hypothesis;
  std::vector<std::string> references;
  ScoreMetricsOptions options = {};
  std::string to = "json";
  bool from_stdin = false;
};

Outcome Score(Job job) {
  CommonOptions common;
  common.inputs = {WriteFile("hypothesis", job.hypothesis)};
  common.output = TestFile("output");
  common.threads = 2;
  common.quiet = true;
  if (job.from_stdin) {
    const int fd = open(common.inputs[0].c_str(), O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    common.inputs = {"-"};
  }
  for (size_t i = 0; i < job.references.size(); ++i) {
    job.options.references.push_back(
        WriteFile("reference" + std::to_string(i), job.references[i]));
  }
  Outcome outcome;
  try {
    Tool tool("score", common);
    RunScoreMetrics(job.options, job.to, tool);
    outcome.code = tool.Finish();
    outcome.output = ReadFile(common.output);
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.message = error.what();
  }
  return outcome;
}

// The golden file's arguments of the peer in our terms.
void ReadArguments(const json& arguments, Job* job) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "-b") {
      job->options.score_only = true;
    } else if (argument == "-sl") {
      job->options.sentence_level = true;
    } else if (argument == "-w") {
      job->options.width = std::stoi(arguments[++i].get<std::string>());
    } else if (argument == "-f") {
      job->to = arguments[++i];
    } else if (argument == "-m") {
      job->options.metrics.clear();
      while (i + 1 < arguments.size() &&
             arguments[i + 1].get<std::string>()[0] != '-') {
        job->options.metrics.push_back(arguments[++i]);
      }
    } else {
      FAIL() << "no such argument here: " << argument;
    }
  }
}

// Rows that are not about the score of one system: confidence intervals,
// paired tests, and references in the columns of one file, which are given as
// files here.
const std::set<std::string> kOtherRows = {
    "nr2",      "nr2-missing", "ci-seed12345-again",
    "ci-seed1", "pbs-self",    "pbs-seed0"};

// Rows where we differ on purpose: a byte order mark is no text, and standard
// input is read as a file is. Field cases enc-bom-score, lines-inner-cr and
// bleu-tsv.
const std::map<std::string, std::string> kOurOutput = {
    {"bom-file", "68.8725\n"},
    {"bom-stdin", "68.8725\n"},
    {"lone-cr-stdin", "68.8725\n"},
    {"tab-stdin", "68.8725\n"},
    {"tab-one-line-stdin", "68.8725\n"}};

TEST(ScoreMetrics, PrintsWhatSacreBleuPrints) {
  std::ifstream file("tests/tools/data/sacrebleu_cli_golden.jsonl");
  int num_rows = 0;
  for (std::string line; std::getline(file, line);) {
    const json row = json::parse(line);
    const std::string id = row["id"];
    if (kOtherRows.contains(id)) continue;
    SCOPED_TRACE(id);
    Job job{.hypothesis = DecodeBase64(row["hyp_b64"][0]),
            .references = {},
            .from_stdin = row["via"] == "stdin"};
    for (const json& text : row["ref_b64"]) {
      job.references.push_back(DecodeBase64(text));
    }
    ReadArguments(row["args"], &job);
    const Outcome outcome = Score(job);
    ++num_rows;
    const auto ours = kOurOutput.find(id);
    if (ours == kOurOutput.end() && row["peer_exit"] != 0) {
      EXPECT_EQ(outcome.code, ExitCode::kBadData);
      continue;
    }
    EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.message;
    EXPECT_EQ(outcome.output, ours != kOurOutput.end()
                                  ? ours->second
                                  : row["peer_stdout"].get<std::string>());
  }
  EXPECT_EQ(num_rows, 28);
}

constexpr char kHypothesis[] =
    "the cat sat on the mat\nhello my friend there\n";
constexpr char kReference[] = "the cat sat on a mat\nhello my friend there\n";

// par-real-mismatch, bleu-transposed: both counts are named.
TEST(ScoreMetrics, UnequalNumbersOfLinesAreNamed) {
  const Outcome outcome =
      Score({.hypothesis = "a\nb\nc\n", .references = {"a\nb\nc\n", "a\n"}});
  EXPECT_EQ(outcome.code, ExitCode::kBadData);
  EXPECT_NE(outcome.message.find("reference1: 1 line of"), std::string::npos);
  EXPECT_NE(outcome.message.find("has 3 lines of"), std::string::npos);
}

// empty-file-decode, its part about scores.
TEST(ScoreMetrics, NoSegmentsIsAnError) {
  for (const char* reference : {"", kReference}) {
    const Outcome outcome =
        Score({.hypothesis = "", .references = {reference}});
    EXPECT_EQ(outcome.code, ExitCode::kBadData);
    EXPECT_NE(outcome.message.find("no segments"), std::string::npos);
  }
}

TEST(ScoreMetrics, SeveralReferencesAreSeveralFiles) {
  Job job{.hypothesis = kHypothesis,
          .references = {kReference, "the cat is on the mat\nhi friend\n"}};
  job.options.width = 4;
  job.options.score_only = true;
  EXPECT_EQ(Score(job).output, "80.3428\n");
}

TEST(ScoreMetrics, JsonLinesHaveAnObjectALine) {
  Job job{.hypothesis = kHypothesis, .references = {kReference}, .to = "jsonl"};
  job.options.metrics = {"chrf", "ter"};
  std::istringstream lines(Score(job).output);
  std::vector<json> records;
  for (std::string line; std::getline(lines, line);) {
    records.push_back(json::parse(line));
  }
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["name"], "chrF2");
  EXPECT_EQ(records[1]["score"], 10.0);
}

TEST(ScoreMetrics, SentenceLevelGivesARecordForEachLine) {
  Job job{.hypothesis = "ok then\n\n",
          .references = {"ok now\nsomething\n"},
          .to = "jsonl"};
  job.options.sentence_level = true;
  job.options.metrics = {"bleu", "ter"};
  job.options.width = 4;
  std::istringstream lines(Score(job).output);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const json first = json::parse(line);
  EXPECT_EQ(first[0]["id"], 0);
  EXPECT_EQ(first[0]["score"], 50.0);
  EXPECT_EQ(first[0]["eff"], "yes");
  EXPECT_EQ(first[1]["name"], "TER");
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line)[0]["score"], 0.0);
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(ScoreMetrics, ABadLineCostsItsOwnSegmentAtSentenceLevel) {
  Job job{.hypothesis = "a\xff\nb c\n", .references = {"a\nb c\n"}};
  job.options.sentence_level = true;
  const Outcome outcome = Score(job);
  EXPECT_EQ(outcome.code, ExitCode::kSomeRecordsBad);
  std::istringstream lines(outcome.output);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const json first = json::parse(line);
  EXPECT_EQ(first["error"]["code"], 65);
  EXPECT_EQ(first["error"]["line"], 1);
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(json::parse(line)["score"], 100.0);
  job.options.score_only = true;
  job.options.metrics = {"ter"};
  EXPECT_EQ(Score(job).output, "\n0.0\n");
}

TEST(ScoreMetrics, ABadLineEndsTheScoringOfACorpus) {
  const Outcome outcome =
      Score({.hypothesis = "a\nb\n", .references = {"a\nb\xe4\n"}});
  EXPECT_EQ(outcome.code, ExitCode::kBadData);
  EXPECT_NE(outcome.message.find("reference0:2:"), std::string::npos);
}

TEST(ScoreMetrics, OptionsThatDoNotGoTogetherAreRefused) {
  Job job{.hypothesis = kHypothesis, .references = {kReference}};
  job.options.smooth_value = 0.5;
  EXPECT_EQ(Score(job).code, ExitCode::kUsage);
  job.options.smooth_method = "floor";
  EXPECT_EQ(Score(job).code, ExitCode::kDone);
  job.from_stdin = true;
  job.options.references = {"-"};
  EXPECT_EQ(Score(job).code, ExitCode::kUsage);
  job.from_stdin = false;
  job.options.references = {};
  job.to = "tensors";
  EXPECT_EQ(Score(job).code, ExitCode::kUsage);
}

TEST(ScoreMetrics, EveryOptionReachesItsMetric) {
  Job job{.hypothesis = kHypothesis, .references = {kReference}, .to = "text"};
  ParseOptions({"--metrics",
                "bleu",
                "chrf",
                "ter",
                "--tokenize",
                "char",
                "--lowercase",
                "--smooth-method",
                "add-k",
                "--smooth-value",
                "2",
                "--max-ngram-order",
                "2",
                "--chrf-char-order",
                "4",
                "--chrf-word-order",
                "1",
                "--chrf-beta",
                "3",
                "--chrf-whitespace",
                "--chrf-eps-smoothing",
                "--ter-normalized",
                "--ter-no-punct",
                "--ter-asian-support",
                "--ter-case-sensitive",
                "--width",
                "3"},
               DeclareScoreMetrics(job.options));
  const std::string text = Score(job).output;
  for (const char* part :
       {"BLEU|nrefs:1|case:lc|eff:no|tok:char|smooth:add-k[2.00]|version:2.6.0",
        "chrF3+|nrefs:1|case:lc|eff:no|nc:4|nw:1|space:yes|version:2.6.0",
        "TER|nrefs:1|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|version:"
        "2.6.0 = 10.000"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

}  // namespace
}  // namespace pipeformer
