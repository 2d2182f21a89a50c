// The options of tokenize, and its run.
#ifndef PIPEFORMER_TOOLS_TOKENIZE_RUN_H_
#define PIPEFORMER_TOOLS_TOKENIZE_RUN_H_

#include <vector>

#include "tools/support/options.h"
#include "tools/support/tool.h"
#include "tools/tokenize_records.h"

namespace pipeformer {

std::vector<Option> TokenizeOptions(TokenizeSettings& settings);

// Reads the tool's input to its end and writes the records that come of it.
// Throws Error; a bad record is one only under --strict.
void RunTokenize(Tool& tool, const TokenizeSettings& settings);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TOKENIZE_RUN_H_
