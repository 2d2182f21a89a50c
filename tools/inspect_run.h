// `inspect-attention`: the attention weights of pairs, as records, tensors or
// pictures; or a module on its own (module_run.h).
#ifndef PIPEFORMER_TOOLS_INSPECT_RUN_H_
#define PIPEFORMER_TOOLS_INSPECT_RUN_H_

#include <string>
#include <vector>

#include "tools/attention_view.h"
#include "tools/module_run.h"
#include "tools/precision.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct InspectSettings {
  std::string model;
  std::string from;  // empty: see ForcedPairs and RunModule
  std::string to;    // empty: jsonl; see RunModule
  std::string precision = kFullPrecision;
  AttentionSelection selection;
  ModuleSettings module;
};

// The options, bound to `settings`.
std::vector<Option> InspectOptions(InspectSettings& settings);

// Gives one attention record for each pair of the tool's input, or what a
// module makes of each record. Throws Error (64) unless it is one of the two.
void RunInspect(Tool& tool, const InspectSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_INSPECT_RUN_H_
