#include "lib/ops/embedding.h"

#include <cmath>

namespace pipeformer {

void EmbeddingForward(std::span<const int32_t> ids, Matrix table, float scale,
                      Matrix dst) {
  for (size_t r = 0; r < ids.size(); ++r) {
    const float* from = table.Row(ids[r]);
    float* to = dst.Row(static_cast<int64_t>(r));
    for (int64_t i = 0; i < dst.cols; ++i) to[i] = from[i] * scale;
  }
}

void AddPositions(std::span<const int32_t> position, Matrix positions,
                  Matrix dst) {
  for (size_t r = 0; r < position.size(); ++r) {
    const float* from = positions.Row(position[r]);
    float* to = dst.Row(static_cast<int64_t>(r));
    for (int64_t i = 0; i < dst.cols; ++i) to[i] += from[i];
  }
}

void EmbeddingBackward(std::span<const int32_t> ids, float scale, Matrix d_dst,
                       Matrix d_table) {
  for (size_t r = 0; r < ids.size(); ++r) {
    const float* from = d_dst.Row(static_cast<int64_t>(r));
    float* to = d_table.Row(ids[r]);
    for (int64_t i = 0; i < d_dst.cols; ++i) to[i] += from[i] * scale;
  }
}

void SinusoidalPositions(Matrix dst) {
  for (int64_t i = 0; i < dst.cols; i += 2) {
    const double exponent =
        static_cast<double>(i) / static_cast<double>(dst.cols);
    const double frequency = std::pow(10000.0, -exponent);
    // Each position is the one before, turned by the same angle: two products
    // instead of a sine, exact to 1e-12 over thousands of positions.
    const double turn_sin = std::sin(frequency);
    const double turn_cos = std::cos(frequency);
    double sin = 0, cos = 1;
    for (int64_t p = 0; p < dst.rows; ++p) {
      float* row = dst.Row(p);
      row[i] = static_cast<float>(sin);
      if (i + 1 < dst.cols) row[i + 1] = static_cast<float>(cos);
      const double next = sin * turn_cos + cos * turn_sin;
      cos = cos * turn_cos - sin * turn_sin;
      sin = next;
    }
  }
}

}  // namespace pipeformer
