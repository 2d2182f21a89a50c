#include "tools/score_metrics_options.h"

namespace pipeformer {
namespace {

// Longer n-grams than these tell nothing.
constexpr double kMaxOrder = 32;

std::vector<Option> DeclareCommon(ScoreMetricsOptions& o) {
  return {
      {.name = "references",
       .value = "FILE",
       .help = "compare with these translations, line by line; each file is "
               "one reference",
       .target = &o.references},
      {.name = "metrics",
       .value = "bleu|chrf|ter",
       .help = "one or more",
       .target = &o.metrics},
      {.name = "sentence-level",
       .value = "",
       .help = "scores of each line instead of the whole; BLEU of the orders "
               "that a line has",
       .target = &o.sentence_level},
      {.name = "width",
       .value = "N",
       .help = "decimals",
       .target = &o.width,
       .min = 0,
       .max = 17},
      {.name = "score-only",
       .value = "",
       .help = "nothing but the number",
       .target = &o.score_only},
      {.name = "lowercase",
       .value = "",
       .help = "BLEU and chrF without regard to case",
       .target = &o.lowercase},
  };
}

std::vector<Option> DeclareBleu(ScoreMetricsOptions& o) {
  return {
      {.name = "tokenize",
       .value = "13a|intl|char|zh|none",
       .help = "what BLEU counts as words",
       .target = &o.tokenize},
      {.name = "smooth-method",
       .value = "exp|floor|add-k|none",
       .help = "what BLEU does about orders without a match",
       .target = &o.smooth_method},
      {.name = "smooth-value",
       .value = "X",
       .help = "of floor (0.1 unless given) or add-k (1)",
       .target = &o.smooth_value,
       .min = 0},
      {.name = "max-ngram-order",
       .value = "N",
       .help = "of BLEU",
       .target = &o.max_ngram_order,
       .min = 1,
       .max = kMaxOrder},
  };
}

std::vector<Option> DeclareChrf(ScoreMetricsOptions& o) {
  return {
      {.name = "chrf-char-order",
       .value = "N",
       .help = "longest character n-grams of chrF",
       .target = &o.chrf_char_order,
       .min = 1,
       .max = kMaxOrder},
      {.name = "chrf-word-order",
       .value = "N",
       .help = "longest word n-grams of chrF; 2 is chrF++",
       .target = &o.chrf_word_order,
       .min = 0,
       .max = kMaxOrder},
      {.name = "chrf-beta",
       .value = "N",
       .help = "how much chrF prefers recall to precision",
       .target = &o.chrf_beta,
       .min = 1,
       .max = 1000},
      {.name = "chrf-whitespace",
       .value = "",
       .help = "white space is part of chrF's n-grams",
       .target = &o.chrf_whitespace},
      {.name = "chrf-eps-smoothing",
       .value = "",
       .help = "chrF over all orders, as NLTK and Moses",
       .target = &o.chrf_eps_smoothing},
  };
}

std::vector<Option> DeclareTer(ScoreMetricsOptions& o) {
  return {
      {.name = "ter-normalized",
       .value = "",
       .help = "TER parts punctuation from words",
       .target = &o.ter_normalized},
      {.name = "ter-no-punct",
       .value = "",
       .help = "TER without punctuation",
       .target = &o.ter_no_punct},
      {.name = "ter-asian-support",
       .value = "",
       .help = "both for East Asian text too",
       .target = &o.ter_asian_support},
      {.name = "ter-case-sensitive",
       .value = "",
       .help = "TER with regard to case",
       .target = &o.ter_case_sensitive},
  };
}

}  // namespace

std::vector<Option> DeclareScoreMetrics(ScoreMetricsOptions& options) {
  std::vector<Option> rows;
  for (auto* declare : {DeclareCommon, DeclareBleu, DeclareChrf, DeclareTer}) {
    const std::vector<Option> some = declare(options);
    rows.insert(rows.end(), some.begin(), some.end());
  }
  return rows;
}

}  // namespace pipeformer
