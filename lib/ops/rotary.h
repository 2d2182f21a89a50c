// Rotary positions: queries and keys are turned by angles that grow with the
// position, so that their product depends on the distance alone.
#ifndef PIPEFORMER_LIB_OPS_ROTARY_H_
#define PIPEFORMER_LIB_OPS_ROTARY_H_

#include <cstdint>
#include <span>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// Turns, in each head, the pair (x[2i], x[2i + 1]) of row r by the angle
// position[r] / 10000^(2i / head_dim), in place.
//   x  [rows, heads * head_dim];  position  [rows]
//   angles  [longest, head_dim]: sine at 2i, cosine at 2i + 1, which is what
//           SinusoidalPositions gives for that width
// Requires: head_dim is even; 0 <= position[r] < angles.rows.
// Source: Su et al. 2021 (RoFormer), section 3.2.2, equations 14, 15 and 34.
void RotaryForward(std::span<const int32_t> position, Matrix angles, Matrix x);

// Turns the gradient back by the same angles, in place.
void RotaryBackward(std::span<const int32_t> position, Matrix angles,
                    Matrix d_x);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ROTARY_H_
