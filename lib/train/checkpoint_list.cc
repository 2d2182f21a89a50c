#include "lib/train/checkpoint_list.h"

#include <algorithm>
#include <cmath>

namespace pipeformer {

void KeepCheckpoint(const CheckpointRule& rule, const Checkpoint& now,
                    std::vector<Checkpoint>& kept) {
  const bool best = rule.which == KeepCheckpoints::kBest;
  if (rule.which == KeepCheckpoints::kNone) return;
  if (best && !std::isfinite(now.value)) return;
  kept.push_back(now);
  if (static_cast<int64_t>(kept.size()) <= rule.count) return;
  auto drop = kept.begin();
  if (best) {
    for (auto i = kept.begin(); i != kept.end(); ++i) {
      if (i->value <= drop->value) drop = i;  // the last of the worst
    }
  }
  kept.erase(drop);
}

bool IsKept(const std::vector<Checkpoint>& kept, int64_t step) {
  return std::any_of(kept.begin(), kept.end(),
                     [=](const Checkpoint& c) { return c.step == step; });
}

}  // namespace pipeformer
