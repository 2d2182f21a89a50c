// What a running program shares: its common options, its streams, and the one
// place where warnings, bad records and the log leave it.
#ifndef PIPEFORMER_TOOLS_SUPPORT_TOOL_H_
#define PIPEFORMER_TOOLS_SUPPORT_TOOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/line_reader.h"
#include "lib/base/error.h"
#include "tools/support/output.h"

namespace pipeformer {

// The options that every program has.
struct CommonOptions {
  std::vector<std::string> inputs = {"-"};
  std::string output = "-";
  int64_t threads = 0;  // after parsing: at least 1
  uint64_t seed = 1;
  bool quiet = false;
  bool strict = false;
  std::string log;  // empty: no log
  InvalidUtf8 invalid_utf8 = InvalidUtf8::kError;
};

class Tool {
 public:
  // Opens the log. Throws Error (kCannotCreate) when that fails.
  Tool(std::string name, CommonOptions options);

  const std::string& name() const { return name_; }
  const CommonOptions& options() const { return options_; }

  // A reader of the lines of --input (the only one, or the one at `index`).
  LineReader OpenLines(size_t index = 0) const;

  // Where results go: --output, opened at the first call.
  Output& output();

  // One line on standard error about how the run goes, not with --quiet.
  void Note(const std::string& message);

  // One line on standard error (not with --quiet) and in the log. `message`
  // starts with the place, `file:line: `, where there is one. Any thread.
  void Warn(const std::string& message);

  // As Warn, for a record that could not be processed; the program will end
  // with exit code 1. Throws Error (kBadData) instead under --strict.
  void BadRecord(const std::string& message);

  // Counts U+FFFD put in for bytes that are not UTF-8; told once, by Finish.
  void CountReplaced(size_t num_replaced) { num_replaced_ += num_replaced; }

  // One object on a line of the --log file, with the time; nothing without
  // --log. Any thread. Throws Error (kInputOutput) when writing fails.
  void Log(nlohmann::ordered_json event);

  // The end of a good run: commits the output, says what was replaced, and
  // gives the exit code: kDone or kSomeRecordsBad.
  ExitCode Finish();

 private:
  std::string name_;
  CommonOptions options_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Output> log_;
  std::mutex mutex_;  // one message at a time
  std::atomic<uint64_t> num_bad_ = 0;
  std::atomic<uint64_t> num_replaced_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_TOOL_H_
