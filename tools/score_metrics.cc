#include "tools/score_metrics.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "formats/input.h"
#include "formats/line_reader.h"
#include "lib/base/error.h"
#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/corpus.h"
#include "lib/metrics/ter.h"
#include "tools/score_metrics_report.h"

namespace pipeformer {
namespace {

using Metrics = std::vector<std::unique_ptr<Metric>>;

// As many lines that end in a spaced full stop are no accident.
constexpr size_t kTokenizedLines = 100;

// The texts of a corpus, and what is wrong with those that have no place in
// it: the message for a segment and the line it stands on.
struct ScoredText {
  Corpus corpus;
  std::map<size_t, std::string> bad_segments;
};

std::unique_ptr<Metric> MakeMetric(const std::string& name,
                                   const ScoreMetricsOptions& options) {
  if (name == "bleu") {
    BleuOptions bleu;
    bleu.tokenizer = BleuTokenizerNamed(options.tokenize);
    bleu.lowercase = options.lowercase;
    bleu.smoothing = BleuSmoothingNamed(options.smooth_method);
    bleu.smooth_value = options.smooth_value;
    bleu.effective_order = options.sentence_level;
    bleu.max_ngram_order = options.max_ngram_order;
    return std::make_unique<Bleu>(bleu);
  }
  if (name == "chrf") {
    ChrfOptions chrf;
    chrf.char_order = options.chrf_char_order;
    chrf.word_order = options.chrf_word_order;
    chrf.beta = static_cast<int>(options.chrf_beta);
    chrf.lowercase = options.lowercase;
    if (options.chrf_whitespace) chrf.whitespace = ChrfWhitespace::kKept;
    if (options.chrf_eps_smoothing) chrf.smoothing = ChrfSmoothing::kEpsilon;
    return std::make_unique<Chrf>(chrf);
  }
  Check(name == "ter", "a metric of the option's list");
  return std::make_unique<Ter>(
      TerTokenizerOptions{.normalized = options.ter_normalized,
                          .no_punct = options.ter_no_punct,
                          .asian_support = options.ter_asian_support,
                          .case_sensitive = options.ter_case_sensitive});
}

ScoreFormat FormatNamed(const std::string& to, bool score_only) {
  if (score_only) return ScoreFormat::kNumber;
  if (to == "json") return ScoreFormat::kJson;
  if (to == "jsonl") return ScoreFormat::kJsonLines;
  if (to == "text") return ScoreFormat::kText;
  ThrowUsage("--to " + to + ": metrics are given as json, jsonl or text");
}

void CheckOptions(const ScoreMetricsOptions& options, const Tool& tool) {
  const bool takes_value =
      options.smooth_method == "floor" || options.smooth_method == "add-k";
  if (options.smooth_value && !takes_value) {
    ThrowUsage(
        "--smooth-value: goes with --smooth-method floor or add-k, not " +
        options.smooth_method);
  }
  auto streams = options.references;
  streams.push_back(tool.options().inputs.at(0));
  if (std::count(streams.begin(), streams.end(), "-") > 1) {
    ThrowUsage(
        "standard input cannot be both the hypotheses and a reference, or two "
        "references; name files");
  }
}

// All lines of `reader`; those that are not UTF-8 are empty and noted in
// `bad`.
std::vector<std::string> ReadTexts(LineReader& reader, Tool& tool,
                                   std::map<size_t, std::string>* bad) {
  std::vector<std::string> texts;
  Line line;
  while (reader.Next(&line)) {
    tool.CountReplaced(line.num_replaced);
    if (!line.error.empty()) {
      bad->emplace(texts.size(), line.error);
      line.text.clear();
    }
    texts.push_back(std::move(line.text));
  }
  return texts;
}

std::string LinesText(size_t num_lines) {
  return std::to_string(num_lines) + (num_lines == 1 ? " line" : " lines");
}

ScoredText ReadCorpus(const ScoreMetricsOptions& options, Tool& tool) {
  ScoredText text;
  LineReader hypotheses = tool.OpenLines();
  text.corpus.hypotheses = ReadTexts(hypotheses, tool, &text.bad_segments);
  const size_t num_segments = text.corpus.hypotheses.size();
  if (num_segments == 0) {
    ThrowBadData(hypotheses.name() + ": no segments; give at least one line");
  }
  for (const std::string& path : options.references) {
    LineReader reader(OpenInput(path), tool.options().invalid_utf8);
    const auto texts = ReadTexts(reader, tool, &text.bad_segments);
    if (texts.size() != num_segments) {
      ThrowBadData(reader.name() + ": " + LinesText(texts.size()) +
                   " of reference, but " + hypotheses.name() + " has " +
                   LinesText(num_segments) +
                   " of translation; line k of both must belong together");
    }
    text.corpus.references.emplace_back(texts.begin(), texts.end());
  }
  return text;
}

void WarnIfTokenized(const ScoreMetricsOptions& options, const Corpus& corpus,
                     Tool& tool) {
  const auto& names = options.metrics;
  if (std::find(names.begin(), names.end(), "bleu") == names.end() ||
      options.tokenize == "none") {
    return;
  }
  const auto num_spaced = static_cast<size_t>(std::count_if(
      corpus.hypotheses.begin(), corpus.hypotheses.end(),
      [](const std::string& text) { return text.ends_with(" ."); }));
  if (num_spaced < kTokenizedLines) return;
  tool.Warn(LinesText(num_spaced) +
            " of translation end in ' .': tokenized text makes BLEU higher "
            "than it is; detokenize it, or say --tokenize none");
}

MetricResult MakeResult(const Metric& metric, std::span<const double> sums,
                        const std::string& num_references) {
  return {.name = metric.Name(),
          .score = metric.Score(sums),
          .details = metric.Details(sums),
          .signature = metric.MakeSignature(num_references)};
}

void WriteSegments(const ScoredText& text, const Metrics& metrics,
                   const ScoreMetricsOptions& options, ScoreFormat format,
                   Tool& tool) {
  const size_t threads = tool.options().threads;
  std::vector<StatisticsTable> tables;
  for (const auto& metric : metrics) {
    tables.push_back(CountStatistics(*metric, text.corpus, threads));
  }
  const std::string num_references = NumReferences(text.corpus);
  const int width = static_cast<int>(options.width);
  for (size_t i = 0; i < text.corpus.hypotheses.size(); ++i) {
    const auto bad = text.bad_segments.find(i);
    if (bad != text.bad_segments.end()) {
      tool.BadRecord(bad->second);
      tool.output().stream() << FormatSegmentError(
          i, bad->second, static_cast<int64_t>(i + 1), format);
      continue;
    }
    std::vector<MetricResult> results;
    for (size_t m = 0; m < metrics.size(); ++m) {
      results.push_back(
          MakeResult(*metrics[m], tables[m].row(i), num_references));
    }
    tool.output().stream() << FormatSegmentScores(i, results, format, width);
  }
}

void WriteCorpus(const ScoredText& text, const Metrics& metrics,
                 const ScoreMetricsOptions& options, ScoreFormat format,
                 Tool& tool) {
  // Leaving a segment out would make another corpus of it.
  if (!text.bad_segments.empty()) {
    ThrowBadData(text.bad_segments.begin()->second);
  }
  std::vector<MetricResult> results;
  for (const auto& metric : metrics) {
    const auto sums =
        CountStatistics(*metric, text.corpus, tool.options().threads).Sum();
    results.push_back(MakeResult(*metric, sums, NumReferences(text.corpus)));
  }
  tool.output().Write(
      FormatCorpusScores(results, format, static_cast<int>(options.width)));
}

}  // namespace

void RunScoreMetrics(const ScoreMetricsOptions& options, const std::string& to,
                     Tool& tool) {
  CheckOptions(options, tool);
  const ScoreFormat format = FormatNamed(to, options.score_only);
  Metrics metrics;
  for (const std::string& name : options.metrics) {
    metrics.push_back(MakeMetric(name, options));
  }
  const ScoredText text = ReadCorpus(options, tool);
  CheckCorpus(text.corpus);
  WarnIfTokenized(options, text.corpus, tool);
  if (options.sentence_level) {
    WriteSegments(text, metrics, options, format, tool);
  } else {
    WriteCorpus(text, metrics, options, format, tool);
  }
}

}  // namespace pipeformer
