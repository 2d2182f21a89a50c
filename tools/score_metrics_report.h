// Scores as sacreBLEU prints them: its JSON, its line of text, or its bare
// number; and each of these for single segments, one line a segment.
#ifndef PIPEFORMER_TOOLS_SCORE_METRICS_REPORT_H_
#define PIPEFORMER_TOOLS_SCORE_METRICS_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/metrics/metric.h"

namespace pipeformer {

enum class ScoreFormat {
  kJson,       // An object, or a list of them if there are several metrics.
  kJsonLines,  // An object a line.
  kText,       // `BLEU|nrefs:1|case:mixed|... = 68.9 90.0/75.0/...`.
  kNumber,     // `68.9`.
};

// What one metric says about a corpus or a segment.
struct MetricResult {
  std::string name;
  double score = 0;
  std::string details;  // sacreBLEU's verbose_score, or empty.
  Signature signature;
};

// The scores of a corpus, `width` decimals each; ends in LF.
std::string FormatCorpusScores(const std::vector<MetricResult>& results,
                               ScoreFormat format, int width);

// The scores of segment number `id` on one line, which ends in LF. The JSON
// is an object with `id`, or, if there are several metrics, a list of them;
// the other forms are parted by TABs.
std::string FormatSegmentScores(uint64_t id,
                                const std::vector<MetricResult>& results,
                                ScoreFormat format, int width);

// The line of segment `id` that could not be scored, because of its line
// `line` (from 1): an error record, or, in text, an empty line.
std::string FormatSegmentError(uint64_t id, const std::string& message,
                               int64_t line, ScoreFormat format);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_METRICS_REPORT_H_
