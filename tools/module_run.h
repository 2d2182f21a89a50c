// `inspect-attention --module`: records of tensors through a saved module.
#ifndef PIPEFORMER_TOOLS_MODULE_RUN_H_
#define PIPEFORMER_TOOLS_MODULE_RUN_H_

#include <optional>
#include <string>
#include <vector>

#include "formats/module_facts.h"
#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

struct ModuleSettings {
  std::string path;    // --module
  std::string prefix;  // of the tensors' names
  // What shapes do not tell; a flag that is not given leaves it to the file.
  std::optional<int64_t> num_heads;
  bool add_zero_attn = false;
  bool norm_first = false;
  bool batch_first = false;
  std::string activation;
  bool is_causal = false;
  std::string need_weights = "average";  // average, heads or none
  bool gradients = false;
  double dropout = 0;

  bool operator==(const ModuleSettings&) const = default;
};

// The options, bound to `settings`.
std::vector<Option> ModuleOptions(ModuleSettings& settings);

// Gives one record of results for each record of the tool's input. `from` is
// tensors or jsonl (empty: tensors), `to` as well (empty: as `from`).
// Throws Error (64) on other formats, and as LoadModule and the pipelines do.
void RunModule(Tool& tool, const ModuleSettings& settings,
               const std::string& from, const std::string& to);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_RUN_H_
