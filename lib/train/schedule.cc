#include "lib/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipeformer {

double Schedule::At(int64_t step, double done) const {
  const auto s = static_cast<double>(step);
  const auto w = static_cast<double>(std::max<int64_t>(warmup_updates, 1));
  const double warmup = std::min(1.0, s / w);
  switch (kind) {
    case ScheduleKind::kInverseSqrt:
      return learning_rate * std::min(warmup, std::sqrt(w / s));
    case ScheduleKind::kNoam:
      return learning_rate *
             std::min(1 / std::sqrt(s), s / (w * std::sqrt(w))) /
             std::sqrt(static_cast<double>(d_model));
    case ScheduleKind::kCosine:
      return learning_rate * warmup * (1 + std::cos(std::numbers::pi * done)) /
             2;
    case ScheduleKind::kLinear:
      return learning_rate * warmup * (1 - done);
    case ScheduleKind::kConstant:
      break;
  }
  return learning_rate * warmup;
}

}  // namespace pipeformer
