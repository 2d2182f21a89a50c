// `inspect-attention`: the attention weights of pairs, as records, tensors or
// pictures.
#ifndef PIPEFORMER_TOOLS_INSPECT_RUN_H_
#define PIPEFORMER_TOOLS_INSPECT_RUN_H_

#include <string>
#include <vector>

#include "tools/attention_view.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct InspectSettings {
  std::string model;
  std::string from;          // tsv, jsonl or text; empty: see ForcedPairs
  std::string to = "jsonl";  // jsonl, tensors or text
  AttentionSelection selection;
};

// The options, bound to `settings`.
std::vector<Option> InspectOptions(InspectSettings& settings);

// Gives one attention record for each pair of the tool's input.
void RunInspect(Tool& tool, const InspectSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_INSPECT_RUN_H_
