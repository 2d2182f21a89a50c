#include "lib/search/constraints.h"

#include <algorithm>

namespace pipeformer {

int64_t NumPieces(const Constraints& constraints) {
  int64_t count = 0;
  for (const auto& c : constraints) count += static_cast<int64_t>(c.size());
  return count;
}

void ConstraintState::Advance(const Constraints& constraints, int32_t id) {
  met_.resize(constraints.size());
  const auto next_of = [&](int64_t number, int64_t place) {
    return constraints[static_cast<size_t>(number)][static_cast<size_t>(place)];
  };
  if (begun_ < 0 || next_of(begun_, place_) != id) {
    begun_ = -1;
    place_ = 0;
    for (size_t c = 0; c < constraints.size() && begun_ < 0; ++c) {
      if (!met_[c] && constraints[c][0] == id) begun_ = static_cast<int64_t>(c);
    }
    if (begun_ < 0) return;
  }
  ++place_;
  const auto number = static_cast<size_t>(begun_);
  if (place_ < static_cast<int64_t>(constraints[number].size())) return;
  met_[number] = true;
  begun_ = -1;
  place_ = 0;
}

int64_t ConstraintState::num_met(const Constraints& constraints) const {
  int64_t count = place_;
  for (size_t c = 0; c < met_.size(); ++c) {
    if (met_[c]) count += static_cast<int64_t>(constraints[c].size());
  }
  return count;
}

std::vector<int32_t> ConstraintState::Wanted(
    const Constraints& constraints) const {
  if (begun_ >= 0) {
    return {
        constraints[static_cast<size_t>(begun_)][static_cast<size_t>(place_)]};
  }
  std::vector<int32_t> first;
  for (size_t c = 0; c < constraints.size(); ++c) {
    if (met_.empty() || !met_[c]) first.push_back(constraints[c][0]);
  }
  std::ranges::sort(first);
  const auto repeated = std::ranges::unique(first);
  first.erase(repeated.begin(), repeated.end());
  return first;
}

// A piece that is not wanted leaves the constraint begun, and takes room.
bool ConstraintState::MustHurry(const Constraints& constraints,
                                int64_t room) const {
  const int64_t missing =
      NumPieces(constraints) - num_met(constraints) + place_;
  return missing > 0 && missing > room - 1;
}

}  // namespace pipeformer
