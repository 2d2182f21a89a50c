// The shell around every program: common options, help, errors and exit codes.
// A program's main declares its options, and gives one function to run:
//
//   int main(int argc, char** argv) {
//     Settings settings;
//     return ToolMain(argc, argv, {.name = "count", ...,
//                                  .options = OptionsOf(settings),
//                                  .run = [&](Tool& tool) { ... }});
//   }
#ifndef PIPEFORMER_TOOLS_SUPPORT_TOOL_MAIN_H_
#define PIPEFORMER_TOOLS_SUPPORT_TOOL_MAIN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/support/options.h"
#include "tools/support/tool.h"

namespace pipeformer {

inline constexpr char kVersion[] = "0.1.0";

struct Example {
  std::string purpose;  // one line
  std::string command;  // works when pasted
};

// How many --input files a program reads; one that reads none is no filter and
// has no --output either.
enum class InputCount { kNone, kOne, kMany };

// A program may run as several processes. The first of them speaks; the others
// leave notes, progress, log and help to it, and tell an error later: if it is
// everybody's, the first has told it, and ended them all, by then.
enum class Voice { kFirst, kOther };

struct Process {
  Voice voice = Voice::kFirst;
  std::string name = {};  // in messages; empty: the program's
  int64_t num_here = 1;   // processes that share this machine's cores
};

struct ToolSpec {
  std::string name;
  std::string purpose;  // a few sentences, lines of at most 80 columns
  std::vector<std::string> usage;
  std::vector<Example> examples;
  std::string see_also;
  InputCount inputs = InputCount::kOne;
  std::vector<Option> options = {};  // besides the common ones
  std::function<void(Tool&)> run;
  Process process = {};
};

// Parses, runs, and gives the exit code (lib/base/error.h). Nothing else in a
// program catches exceptions. SIGPIPE gets its default disposition, so that a
// program whose reader goes away ends quietly.
int ToolMain(int argc, char** argv, const ToolSpec& spec);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_TOOL_MAIN_H_
