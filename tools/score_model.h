// `score --model`: the log-probabilities that a model gives to pairs.
#ifndef PIPEFORMER_TOOLS_SCORE_MODEL_H_
#define PIPEFORMER_TOOLS_SCORE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/precision.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct ScoreModelOptions {
  std::string model;
  std::string from;  // tsv, jsonl or text; empty: see ForcedPairs
  std::string precision = kFullPrecision;
  std::string summary;       // cross-entropy or perplexity; empty: each pair
  int64_t distribution = 0;  // pieces shown at each position

  bool operator==(const ScoreModelOptions&) const = default;
};

// The options, bound to `options`.
std::vector<Option> DeclareScoreModel(ScoreModelOptions& options);

// Reads pairs and writes, as `to` says, a score record for each (jsonl), its
// log-probability alone (text) or its probabilities over the vocabulary
// (tensors); with a summary, one figure for all: the mean over target pieces,
// end symbols included, in nats, or its exponential. With a distribution, the
// most probable pieces at each position too (text: a table for each pair).
// Throws Error (64) when the options contradict each other.
void RunScoreModel(const ScoreModelOptions& options, const std::string& to,
                   Tool& tool);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_MODEL_H_
