// The two sides of `score`: metrics and model.
#ifndef PIPEFORMER_TOOLS_SCORE_RUN_H_
#define PIPEFORMER_TOOLS_SCORE_RUN_H_

#include <string>
#include <vector>

#include "tools/score_metrics.h"
#include "tools/score_model.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct ScoreSettings {
  ScoreMetricsOptions metrics;
  ScoreModelOptions model;
  std::string to;  // json, jsonl or text; empty: as suits the side
};

// The options, bound to `settings`.
std::vector<Option> ScoreOptions(ScoreSettings& settings);

// Throws Error (64) unless exactly one side is asked for.
void RunScore(Tool& tool, const ScoreSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_RUN_H_
