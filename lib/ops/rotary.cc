#include "lib/ops/rotary.h"

namespace pipeformer {
namespace {

// Turns by the angle, or back where `direction` is -1.
void Rotate(std::span<const int32_t> position, Matrix angles, float direction,
            Matrix x) {
  for (size_t r = 0; r < position.size(); ++r) {
    const float* angle = angles.Row(position[r]);
    float* row = x.Row(static_cast<int64_t>(r));
    for (int64_t head = 0; head < x.cols; head += angles.cols) {
      for (int64_t i = 0; i < angles.cols; i += 2) {
        const float sin = direction * angle[i];
        const float cos = angle[i + 1];
        float* pair = row + head + i;
        const float first = pair[0] * cos - pair[1] * sin;
        pair[1] = pair[0] * sin + pair[1] * cos;
        pair[0] = first;
      }
    }
  }
}

}  // namespace

void RotaryForward(std::span<const int32_t> position, Matrix angles, Matrix x) {
  Rotate(position, angles, 1, x);
}

void RotaryBackward(std::span<const int32_t> position, Matrix angles,
                    Matrix d_x) {
  Rotate(position, angles, -1, d_x);
}

}  // namespace pipeformer
