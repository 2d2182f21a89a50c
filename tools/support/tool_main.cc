#include "tools/support/tool_main.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "lib/base/error.h"
#include "tools/support/cores.h"

namespace pipeformer {
namespace {

constexpr std::chrono::seconds kPatience(2);

// A closed standard stream would give its number to the next file opened, and
// results would land there. Taken by /dev/null in the wrong direction, it
// fails at the first use instead.
void OccupyStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    const int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) < 0) return;
  }
}

void AddInputOption(InputCount count, CommonOptions& common,
                    std::vector<Option>& options) {
  const std::string help =
      "`-` is standard input; .gz .bz2 .xz .zst are decompressed";
  if (count == InputCount::kMany) {
    options.push_back({.name = "input",
                       .value = "FILE",
                       .help = "read these files, " + help,
                       .target = &common.inputs});
  } else if (count == InputCount::kOne) {
    options.push_back({.name = "input",
                       .value = "FILE",
                       .help = "read this file, " + help,
                       .target = &common.inputs[0]});
  }
}

std::vector<Option> DeclareCommon(InputCount count, CommonOptions& common,
                                  std::optional<int64_t>& threads) {
  std::vector<Option> options;
  AddInputOption(count, common, options);
  const bool filter = count != InputCount::kNone;
  if (filter) {
    options.push_back({.name = "output",
                       .value = "FILE",
                       .help = "write this file, whole or not at all; `-` is "
                               "standard output",
                       .target = &common.output});
  }
  options.push_back({.name = "threads",
                     .value = "N",
                     .help = std::string("threads, by default one for each "
                                         "core; the result ") +
                             (filter ? "does not depend on it"
                                     : "is repeatable for the same number"),
                     .target = &threads,
                     .min = 1,
                     .max = 4096});
  options.push_back({.name = "seed",
                     .value = "N",
                     .help = "the one source of chance",
                     .target = &common.seed});
  options.push_back({.name = "invalid-utf8",
                     .value = "error|replace",
                     .help = "bytes that are not UTF-8: a bad record (error, "
                             "the default), or U+FFFD",
                     .target = [&common](const std::string& text) {
                       common.invalid_utf8 = text == "replace"
                                                 ? InvalidUtf8::kReplace
                                                 : InvalidUtf8::kError;
                     }});
  options.push_back({.name = "strict",
                     .value = "",
                     .help = "stop at the first bad record",
                     .target = &common.strict});
  options.push_back({.name = "quiet",
                     .value = "",
                     .help = "no warnings, no progress",
                     .target = &common.quiet});
  options.push_back({.name = "log",
                     .value = "FILE",
                     .help = "append events to this file as JSON-lines",
                     .target = &common.log});
  return options;
}

std::string HelpText(const ToolSpec& spec, const std::vector<Option>& common) {
  std::string text = spec.name + ": " + spec.purpose + "\n\nUsage:\n";
  for (const std::string& line : spec.usage) text += "  " + line + "\n";
  if (!spec.options.empty()) {
    text += "\nOptions:\n" + DescribeOptions(spec.options);
  }
  text += "\nCommon options:\n" + DescribeOptions(common);
  text += "\nExamples:\n";
  for (const Example& example : spec.examples) {
    text += "  # " + example.purpose + "\n  " + example.command + "\n";
  }
  text +=
      "\nExit codes: 0 done; 1 done, some records bad; 64 usage; 65 bad data "
      "or model;\n66 input missing; 70 internal fault; 73 cannot create; 74 "
      "input/output error.\n";
  return text + "\nSee also: " + spec.see_also + "\n";
}

ExitCode Run(const std::vector<std::string>& arguments, const ToolSpec& spec) {
  CommonOptions common;
  std::optional<int64_t> threads;
  bool help = false;
  bool version = false;
  std::vector<Option> shared = DeclareCommon(spec.inputs, common, threads);
  shared.push_back(
      {.name = "help", .value = "", .help = "show this help", .target = &help});
  shared.push_back({.name = "version",
                    .value = "",
                    .help = "show the version",
                    .target = &version});
  const auto asks = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) !=
           arguments.end();
  };
  const bool speaks = spec.process.voice == Voice::kFirst;
  if (!speaks && (asks("--help") || asks("--version"))) return ExitCode::kDone;
  if (asks("--help")) {
    OpenOutput("-")->Write(HelpText(spec, shared));
    return ExitCode::kDone;
  }
  if (asks("--version")) {
    OpenOutput("-")->Write(spec.name + " (Pipeformer) " + kVersion + "\n");
    return ExitCode::kDone;
  }
  std::vector<Option> all = spec.options;
  all.insert(all.end(), shared.begin(), shared.end());
  ParseOptions(arguments, all);
  common.threads = threads.value_or(NumCores(spec.process.num_here));
  if (!speaks) {
    common.quiet = true;
    common.log.clear();
  }
  Tool tool(spec.name, common);
  spec.run(tool);
  return tool.Finish();
}

int Report(const ToolSpec& spec, ExitCode code, const std::string& message) {
  if (spec.process.voice == Voice::kOther) {
    std::signal(SIGTERM, SIG_DFL);  // so as to be ended by the first one
    std::this_thread::sleep_for(kPatience);
  }
  const std::string& name = spec.process.name;
  WriteLine((name.empty() ? spec.name : name) + ": " + message);
  return static_cast<int>(code);
}

}  // namespace

int ToolMain(int argc, char** argv, const ToolSpec& spec) {
  std::signal(SIGPIPE, SIG_DFL);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error
  OccupyStandardStreams();
  try {
    return static_cast<int>(Run({argv + 1, argv + argc}, spec));
  } catch (const Error& error) {
    return Report(spec, error.code(), error.what());
  } catch (const std::system_error& error) {  // as std::thread throws
    return Report(spec, ExitCode::kInternalFault,
                  std::string("the system refuses: ") + error.what() +
                      "; if it is short of threads, lower --threads");
  } catch (const std::bad_alloc&) {
    return Report(spec, ExitCode::kInternalFault,
                  "out of memory; use a smaller batch or a larger machine");
  } catch (const std::exception& error) {
    return Report(spec, ExitCode::kInternalFault,
                  std::string("internal fault: ") + error.what() +
                      "; please report it with the command");
  }
}

}  // namespace pipeformer
