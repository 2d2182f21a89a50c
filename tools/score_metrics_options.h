// The options of `score --references`, with sacreBLEU's names and defaults.
#ifndef PIPEFORMER_TOOLS_SCORE_METRICS_OPTIONS_H_
#define PIPEFORMER_TOOLS_SCORE_METRICS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/support/options.h"

namespace pipeformer {

struct ScoreMetricsOptions {
  std::vector<std::string> references;  // Files, one a reference.
  std::vector<std::string> metrics = {"bleu"};
  bool lowercase = false;  // BLEU and chrF; TER has a setting of its own.
  bool sentence_level = false;
  bool score_only = false;
  int64_t width = 1;  // Decimals.

  std::string tokenize = "13a";
  std::string smooth_method = "exp";
  std::optional<double> smooth_value;
  int64_t max_ngram_order = 4;

  int64_t chrf_char_order = 6;
  int64_t chrf_word_order = 0;
  int64_t chrf_beta = 2;
  bool chrf_whitespace = false;
  bool chrf_eps_smoothing = false;

  bool ter_normalized = false;
  bool ter_no_punct = false;
  bool ter_asian_support = false;
  bool ter_case_sensitive = false;

  bool operator==(const ScoreMetricsOptions&) const = default;
};

// The rows of the option table that set `options`, which must outlive them.
std::vector<Option> DeclareScoreMetrics(ScoreMetricsOptions& options);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_METRICS_OPTIONS_H_
