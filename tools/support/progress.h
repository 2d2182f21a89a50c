// A line on standard error that says how far a long run has come. Shown only
// on a terminal, only after two seconds, at most five times a second; results
// and logs never go through it.
#ifndef PIPEFORMER_TOOLS_SUPPORT_PROGRESS_H_
#define PIPEFORMER_TOOLS_SUPPORT_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/support/tool.h"

namespace pipeformer {

// The text of the line, without the terminal: `1200 lines  4.1k/s  0:07 left`.
//   done, total  in `unit`; a total that is not known is left out
//   seconds  since the start
std::string ProgressText(uint64_t done, std::optional<uint64_t> total,
                         const std::string& unit, double seconds);

// 950.0, 4.1k, 2.3M.
std::string ShortNumber(double value);

// `0:07`, `12:34`, `1:02:03`: minutes and seconds, and hours where there are
// any. Requires: seconds >= 0.
std::string ClockText(double seconds);

class Progress {
 public:
  // Silent where standard error is no terminal, and under --quiet.
  Progress(const Tool& tool, std::string unit,
           std::optional<uint64_t> total = std::nullopt);

  // Removes the line.
  ~Progress();

  // Says that `done` units are behind us; `note` follows the figures. Cheap.
  // From one thread at a time.
  void Update(uint64_t done, const std::string& note = "");

  // Shows `text` instead of what this class would say.
  void Show(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;

  bool IsDue() const;

  std::string name_;
  std::string unit_;
  std::optional<uint64_t> total_;
  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point due_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_PROGRESS_H_
