// The learning rate over the course of training.
#ifndef PIPEFORMER_LIB_TRAIN_SCHEDULE_H_
#define PIPEFORMER_LIB_TRAIN_SCHEDULE_H_

#include <cstdint>

namespace pipeformer {

// With w warm-up updates, peak rate r, update s (from 1) and f the share of the
// whole training that is done:
// kInverseSqrt  r min(s / w, sqrt(w / s))
// kNoam         d_model^-0.5 min(s^-0.5, s w^-1.5) r   Vaswani et al. 2017, 5.3
// kCosine       r (1 + cos(pi f)) / 2, after a linear warm-up
// kLinear       r (1 - f), after a linear warm-up
// kConstant     r, after a linear warm-up
enum class ScheduleKind { kInverseSqrt, kNoam, kCosine, kLinear, kConstant };

struct Schedule {
  ScheduleKind kind = ScheduleKind::kInverseSqrt;
  double learning_rate = 0.0003;
  int64_t warmup_updates = 4000;
  int64_t d_model = 512;  // for kNoam

  // The rate of update `step`, counted from 1. `done` in [0, 1] is the share
  // of the training that lies behind.
  double At(int64_t step, double done) const;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_SCHEDULE_H_
