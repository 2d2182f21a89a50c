// How a network knows the order of its pieces (PositionKind): vectors added to
// the embeddings, and what self-attention does with distances.
#ifndef PIPEFORMER_LIB_NN_POSITIONS_H_
#define PIPEFORMER_LIB_NN_POSITIONS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/parameter.h"

namespace pipeformer {

// The number of each row within its sentence, on the arena.
std::span<const int32_t> PositionsOf(Context& context,
                                     std::span<const int32_t> offsets);

// Constants that every self-attention of a network shares.
struct AttentionPositions {
  PositionKind kind = PositionKind::kSinusoidal;
  int64_t clip = 0;           // kRelative
  std::vector<float> angles;  // kRotary: [max_positions, head_dim]
  std::vector<float> slopes;  // kAlibi: [heads]

  explicit AttentionPositions(const TransformerConfig& config);

  // The angles as a matrix; see RotaryForward.
  Matrix AngleMatrix(int64_t head_dim) const {
    return DenseMatrix(const_cast<float*>(angles.data()),
                       static_cast<int64_t>(angles.size()) / head_dim,
                       head_dim);
  }
};

// What is added to the embeddings: sines, learned vectors of each side, or
// nothing where attention alone knows positions.
class EmbeddingPositions {
 public:
  enum class Side { kSource, kTarget };

  // For kLearned declares source_position.weight (unless there is no encoder)
  // and target_position.weight, both [max_positions, d_model].
  EmbeddingPositions(ParameterTable& table, const TransformerConfig& config);

  // x[r] += the vector of position[r].  x [rows, d_model]
  // Requires: `position` lives as long as the tape.
  void Add(Context& context, Side side, std::span<const int32_t> position,
           Variable x) const;

 private:
  const Parameter* learned_source_ = nullptr;
  const Parameter* learned_target_ = nullptr;
  std::vector<float> sines_;  // [max_positions, d_model]
};

// Turns queries or keys [rows, heads * head_dim] in place; see RotaryForward.
void Rotate(Context& context, std::span<const int32_t> position, Matrix angles,
            Variable x);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_POSITIONS_H_
