// Lexical constraints: sequences of pieces that a result must contain. Where a
// hypothesis stands with them, and what it must do to meet them in time.
// Source: Hokamp and Liu 2017, section 3 (hypotheses that begin, continue and
// leave a constraint); Post and Vilar 2018, section 3 (a place in the beam for
// every number of pieces met).
#ifndef PIPEFORMER_LIB_SEARCH_CONSTRAINTS_H_
#define PIPEFORMER_LIB_SEARCH_CONSTRAINTS_H_

#include <cstdint>
#include <vector>

namespace pipeformer {

// Each is a sequence of one piece or more.
using Constraints = std::vector<std::vector<int32_t>>;

// What a hypothesis has met so far. All functions take the same constraints.
class ConstraintState {
 public:
  // Counts `id`, the hypothesis' next piece. One that does not go on with the
  // constraint begun leaves it, and its pieces count no more.
  void Advance(const Constraints& constraints, int32_t id);

  // Pieces of constraints that have been met, of the one begun so far too.
  int64_t num_met(const Constraints& constraints) const;

  // Pieces that would bring it on: the next of the one begun; else the first
  // of each that is not met. None where all are met.
  std::vector<int32_t> Wanted(const Constraints& constraints) const;

  // Whether all that follows must be wanted pieces, if `room` pieces are left.
  // Once so, always so, and the room suffices; it does from the beginning where
  // all pieces of the constraints have room.
  bool MustHurry(const Constraints& constraints, int64_t room) const;

 private:
  std::vector<bool> met_;  // of each constraint, or none: not begun
  int64_t begun_ = -1;     // the constraint that the newest pieces are part of
  int64_t place_ = 0;      // its pieces so far
};

// Pieces of all constraints together.
int64_t NumPieces(const Constraints& constraints);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_CONSTRAINTS_H_
