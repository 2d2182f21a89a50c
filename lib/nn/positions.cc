#include "lib/nn/positions.h"

#include <cmath>
#include <numeric>

#include "lib/ops/attention.h"
#include "lib/ops/embedding.h"
#include "lib/ops/rotary.h"

namespace pipeformer {

std::span<const int32_t> PositionsOf(Context& context,
                                     std::span<const int32_t> offsets) {
  const int32_t rows = offsets.back();
  auto* position = context.arena.Array<int32_t>(rows);
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    std::iota(position + offsets[s], position + offsets[s + 1], 0);
  }
  return {position, static_cast<size_t>(rows)};
}

AttentionPositions::AttentionPositions(const TransformerConfig& config)
    : kind(config.position), clip(config.relative_clip) {
  if (kind == PositionKind::kRotary) {
    angles.resize(
        static_cast<size_t>(config.max_positions * config.head_dim()));
    SinusoidalPositions(
        DenseMatrix(angles.data(), config.max_positions, config.head_dim()));
  }
  if (kind == PositionKind::kAlibi) {
    slopes.resize(static_cast<size_t>(config.num_heads));
    LinearBiasSlopes(slopes);
  }
}

EmbeddingPositions::EmbeddingPositions(ParameterTable& table,
                                       const TransformerConfig& config) {
  const int64_t rows = config.max_positions;
  if (config.position == PositionKind::kLearned) {
    const float deviation = 1 / std::sqrt(static_cast<float>(config.d_model));
    const auto declare = [&](const char* name) {
      return &table.DeclareMatrix(name, rows, config.d_model,
                                  {.normal = deviation});
    };
    if (!config.is_language_model()) {
      learned_source_ = declare("source_position.weight");
    }
    learned_target_ = declare("target_position.weight");
  }
  if (config.position == PositionKind::kSinusoidal) {
    sines_.resize(static_cast<size_t>(rows * config.d_model));
    SinusoidalPositions(DenseMatrix(sines_.data(), rows, config.d_model));
  }
}

void EmbeddingPositions::Add(Context& context, Side side,
                             std::span<const int32_t> position,
                             Variable x) const {
  if (!sines_.empty()) {
    const int64_t rows = static_cast<int64_t>(sines_.size()) / x.width();
    AddPositions(
        position,
        DenseMatrix(const_cast<float*>(sines_.data()), rows, x.width()),
        x.value);
  }
  const Parameter* learned =
      side == Side::kSource ? learned_source_ : learned_target_;
  if (learned == nullptr) return;
  AddPositions(position, learned->value, x.value);
  if (context.tape == nullptr) return;
  const Matrix d_table = GradientOf(*learned, context.gradients);
  context.tape->Record(Op::kEmbedding, context.arena, [position, x, d_table] {
    if (*x.has_grad) EmbeddingBackward(position, 1, x.grad, d_table);
  });
}

void Rotate(Context& context, std::span<const int32_t> position, Matrix angles,
            Variable x) {
  RotaryForward(position, angles, x.value);
  if (context.tape == nullptr) return;
  context.tape->Record(Op::kOther, context.arena, [position, angles, x] {
    if (*x.has_grad) RotaryBackward(position, angles, x.grad);
  });
}

}  // namespace pipeformer
