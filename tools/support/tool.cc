#include "tools/support/tool.h"

#include <unistd.h>

#include <ctime>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// The present time as in RFC 3339, in UTC.
std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace

Tool::Tool(std::string name, CommonOptions options)
    : name_(std::move(name)), options_(std::move(options)) {
  if (!options_.log.empty()) log_ = OpenAppendedOutput(options_.log);
}

LineReader Tool::OpenLines(size_t index) const {
  return LineReader(OpenInput(options_.inputs.at(index)),
                    options_.invalid_utf8);
}

Output& Tool::output() {
  if (output_ == nullptr) output_ = OpenOutput(options_.output);
  return *output_;
}

void Tool::Note(const std::string& message) {
  if (!options_.quiet) WriteLine(name_ + ": " + message);
}

void Tool::Warn(const std::string& message) {
  if (!options_.quiet) WriteLine(name_ + ": warning: " + message);
  Log({{"event", "warning"}, {"message", message}});
}

void Tool::BadRecord(const std::string& message) {
  if (options_.strict) ThrowBadData(message);
  ++num_bad_;
  Warn(message);
}

void Tool::Log(nlohmann::ordered_json event) {
  if (log_ == nullptr) return;
  nlohmann::ordered_json line = {{"time", TimeText()}, {"tool", name_}};
  line.update(event);
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  const std::string text = line.dump(-1, ' ', false, replace) + "\n";
  const std::lock_guard lock(mutex_);
  log_->Write(text);
}

ExitCode Tool::Finish() {
  if (output_ != nullptr) output_->Commit();
  if (num_replaced_ > 0) {
    Warn("bytes that are not UTF-8, replaced by U+FFFD: " +
         std::to_string(num_replaced_));
  }
  Log({{"event", "end"}, {"bad_records", num_bad_.load()}});
  return num_bad_ == 0 ? ExitCode::kDone : ExitCode::kSomeRecordsBad;
}

}  // namespace pipeformer
