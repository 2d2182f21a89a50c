// Which validated weights are kept for averaging: those of the last or of the
// best validations. Source: Vaswani et al. 2017, section 6.1, which averages
// the last 5 or 20.
#ifndef PIPEFORMER_LIB_TRAIN_CHECKPOINT_LIST_H_
#define PIPEFORMER_LIB_TRAIN_CHECKPOINT_LIST_H_

#include <cstdint>
#include <vector>

namespace pipeformer {

// Weights that were validated after update `step`. `value` is that of the
// first metric, where more is better; -infinity without one.
struct Checkpoint {
  int64_t step = 0;
  double value = 0;

  bool operator==(const Checkpoint&) const = default;
};

enum class KeepCheckpoints { kNone, kLast, kBest };

struct CheckpointRule {
  KeepCheckpoints which = KeepCheckpoints::kNone;
  int64_t count = 0;
};

// Adds `now`, the youngest, to `kept`, which is in the order of steps, and
// drops the one that the rule no longer wants. Of equal values the older one
// is the better; a value that is not finite is never among the best.
void KeepCheckpoint(const CheckpointRule& rule, const Checkpoint& now,
                    std::vector<Checkpoint>& kept);

// Whether the weights after update `step` are among `kept`.
bool IsKept(const std::vector<Checkpoint>& kept, int64_t step);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_CHECKPOINT_LIST_H_
