#include "tools/support/progress.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace pipeformer {
namespace {

constexpr std::chrono::milliseconds kFirst(2000);
constexpr std::chrono::milliseconds kBetween(200);

std::string OneDecimal(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value,
                                 std::chars_format::fixed, 1);
  return {text, end.ptr};
}

std::string TwoDigits(uint64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string ShortNumber(double value) {
  if (value >= 1e6) return OneDecimal(value / 1e6) + "M";
  if (value >= 1e3) return OneDecimal(value / 1e3) + "k";
  return OneDecimal(value);
}

std::string ClockText(double seconds) {
  // Beyond a million hours nobody counts.
  const auto whole = static_cast<uint64_t>(std::min(seconds, 3.6e9));
  const uint64_t minutes = whole / 60;
  const std::string rest = ":" + TwoDigits(whole % 60);
  if (minutes < 60) return std::to_string(minutes) + rest;
  return std::to_string(minutes / 60) + ":" + TwoDigits(minutes % 60) + rest;
}

std::string ProgressText(uint64_t done, std::optional<uint64_t> total,
                         const std::string& unit, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  std::string text = std::to_string(done);
  if (total) text.append("/").append(std::to_string(*total));
  text += " " + unit + "  " + ShortNumber(rate) + "/s";
  if (total && rate > 0 && *total >= done) {
    text +=
        "  " + ClockText(static_cast<double>(*total - done) / rate) + " left";
  }
  return text;
}

Progress::Progress(const Tool& tool, std::string unit,
                   std::optional<uint64_t> total)
    : name_(tool.name()),
      unit_(std::move(unit)),
      total_(total),
      enabled_(!tool.options().quiet && isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      due_(start_ + kFirst) {}

Progress::~Progress() {
  if (shown_) WriteMessage("\r\033[K");
}

void Progress::Update(uint64_t done, const std::string& note) {
  if (!IsDue()) return;
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start_).count();
  std::string text = ProgressText(done, total_, unit_, seconds);
  if (!note.empty()) text += "  " + note;
  Show(text);
}

bool Progress::IsDue() const { return enabled_ && Clock::now() >= due_; }

void Progress::Show(const std::string& text) {
  if (!IsDue()) return;
  due_ = Clock::now() + kBetween;
  shown_ = true;
  WriteMessage("\r\033[K" + name_ + ": " + text);
}

}  // namespace pipeformer
