// Looking up rows of a table: pieces to vectors.
#ifndef PIPEFORMER_LIB_OPS_EMBEDDING_H_
#define PIPEFORMER_LIB_OPS_EMBEDDING_H_

#include <cstdint>
#include <span>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// dst[r] = scale * table[ids[r]].
//   ids  [rows];  table  [vocabulary, width];  dst  [rows, width]
// Requires: 0 <= ids[r] < table.rows.
// Source: Vaswani et al. 2017, section 3.4 (scale is the root of the width).
void EmbeddingForward(std::span<const int32_t> ids, Matrix table, float scale,
                      Matrix dst);

// dst[r] += positions[position[r]].
//   position  [rows];  positions  [longest, width];  dst  [rows, width]
// Requires: 0 <= position[r] < positions.rows.
void AddPositions(std::span<const int32_t> position, Matrix positions,
                  Matrix dst);

// d_table[ids[r]] += scale * d_dst[r].
void EmbeddingBackward(std::span<const int32_t> ids, float scale, Matrix d_dst,
                       Matrix d_table);

// The sinusoidal positions: dst[p, 2i] = sin(p / 10000^(2i/width)) and
// dst[p, 2i+1] = cos of the same. dst [longest, width].
// Source: Vaswani et al. 2017, section 3.5.
void SinusoidalPositions(Matrix dst);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_EMBEDDING_H_
