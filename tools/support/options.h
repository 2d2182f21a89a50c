// The options of a program, declared once: one table both parses the command
// line and prints the help. Each row is bound to the variable it sets, whose
// value at the time of the declaration is the default.
//
//   int64_t beam_size = 5;
//   std::vector<Option> options = {
//       {.name = "beam-size", .value = "N", .help = "hypotheses kept",
//        .target = &beam_size, .min = 1}};
#ifndef PIPEFORMER_TOOLS_SUPPORT_OPTIONS_H_
#define PIPEFORMER_TOOLS_SUPPORT_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pipeformer {

// What an option sets. A vector takes one or more values, up to the next
// argument that starts with `--`, and the option may be repeated; a bool takes
// none; a function gets the text as it stands and may throw (ThrowUsage).
using OptionTarget =
    std::variant<bool*, int64_t*, uint64_t*, double*, std::string*,
                 std::optional<int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::vector<std::string>*,
                 std::vector<int64_t>*, std::vector<double>*,
                 std::function<void(const std::string&)>>;

struct Option {
  std::string name;   // without the dashes
  std::string value;  // what stands for the value in the help: FILE, N; words
                      // in lower case joined by `|` are the only ones allowed
  std::string help;
  OptionTarget target;
  // Limits of a number, both allowed.
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool required = false;
};

// Sets the targets from `arguments` (without the program's name). A vector
// that is named at least once loses its default first.
// Throws Error (kUsage) on an unknown option, naming the nearest known one; on
// a missing or extra value, one that is no number, or beyond its limits.
void ParseOptions(const std::vector<std::string>& arguments,
                  const std::vector<Option>& options);

// The help lines of `options`, with their defaults; at most 80 columns.
std::string DescribeOptions(const std::vector<Option>& options);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_OPTIONS_H_
