// `score --references`: BLEU, chrF and TER of the lines of a translation.
#ifndef PIPEFORMER_TOOLS_SCORE_METRICS_H_
#define PIPEFORMER_TOOLS_SCORE_METRICS_H_

#include <string>

#include "tools/score_metrics_options.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Reads hypotheses from the tool's input and the references from their files,
// line k of each belonging together, and writes the scores as `to` says:
// json (sacreBLEU's layout), jsonl or text. With `sentence_level` one line for
// each segment; BLEU then has effective order.
// A line that is not UTF-8 ends the run; at sentence level it costs its own
// segment only.
// Throws Error: kUsage on options that do not go together; kBadData on files
// of unequal numbers of lines, with both numbers, and where there are no
// segments at all; as LineReader.
void RunScoreMetrics(const ScoreMetricsOptions& options, const std::string& to,
                     Tool& tool);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_METRICS_H_
