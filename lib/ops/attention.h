// Scaled dot-product attention over ragged batches, all heads at once: the one
// attention of the toolkit, for encoder, decoder and cross attention, under any
// mask; in attention_step.h for single decoding steps, with the same numbers.
//
//   weights = softmax(scale query key^T + bias),  dst = dropout(weights) value
//
// where the bias comes from a mask and from the distance between query and key.
// A query's result is computed in one fixed order from its own keys, so it is
// the same, to the last bit, alone or in any batch, in a whole sequence or in
// a single step. Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
#ifndef PIPEFORMER_LIB_OPS_ATTENTION_H_
#define PIPEFORMER_LIB_OPS_ATTENTION_H_

#include <cstdint>
#include <span>

#include "lib/ops/dropout.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// Keys are handled in blocks of this many.
inline constexpr int64_t kKeyBlock = 16;

// `num_keys` rounded up to whole blocks.
inline int64_t PaddedKeys(int64_t num_keys) {
  return (num_keys + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
}

// The queries of one sentence and the keys they see.
struct AttentionGroup {
  int64_t first_query = 0;  // row of the query matrix
  int64_t num_queries = 0;
  int64_t num_keys = 0;
  const float* keys = nullptr;    // [., heads * head_dim]
  const float* values = nullptr;  // [., heads * head_dim]
  float* weights = nullptr;       // out, see AttentionForward, or null
  // A gradient of `weights` from elsewhere, which backward adds to that of the
  // result, laid out as they are; or null.
  const float* d_weights = nullptr;
  // Added to the scores, [num_queries, num_keys] for each head or for all;
  // minus infinity hides a key.
  const float* mask = nullptr;
  int64_t mask_head_stride = 0;  // floats between heads of `mask`, 0: shared
  float* d_keys = nullptr;       // rows as in `keys`, for backward
  float* d_values = nullptr;     // rows as in `values`, for backward
  float* d_mask = nullptr;       // as `mask`, for backward, or null
};

// Vectors for the distance from a query to a key, clipped to [-clip, clip]:
//   score += scale query . keys[distance + clip]
//   dst += weight values[distance + clip]
// for every head alike. Source: Shaw et al. 2018, section 3, equations 3 to 5.
struct RelativeVectors {
  int64_t clip = 0;
  const float* keys = nullptr;    // [2 clip + 1, head_dim], null: none
  const float* values = nullptr;  // the same
  float* d_keys = nullptr;        // for backward
  float* d_values = nullptr;

  int64_t rows() const { return 2 * clip + 1; }
};

struct AttentionOptions {
  int64_t num_heads = 1;
  float scale = 1;  // 1 / sqrt(head_dim) in the paper
  // Query t of n stands at the place of key num_keys - n + t: what follows
  // counts distances from there.
  bool causal = false;            // sees no key after its own place
  int64_t window = 0;             // sees keys at most so far away; 0: all
  const float* slopes = nullptr;  // [heads]: score -= slope |distance|, or null
  RelativeVectors relative = {};
  int64_t key_stride = 0;    // floats between rows of keys, also of d_keys
  int64_t value_stride = 0;  // the same for values and d_values
  Dropout dropout = {};      // on the weights
};

// Floats of scratch memory that forward or backward needs for `groups`. Scratch
// and packed keys are aligned to 64 bytes, as an arena's blocks are.
int64_t AttentionScratchSize(std::span<const AttentionGroup> groups,
                             const AttentionOptions& options, int64_t head_dim);

// `options` with the relative vectors that any distance within `groups` can
// reach: what a large clip holds beyond costs nothing.
AttentionOptions WithReach(const AttentionOptions& options,
                           std::span<const AttentionGroup> groups,
                           int64_t head_dim);

// The same where no distance is larger than `reach`.
AttentionOptions WithReach(const AttentionOptions& options, int64_t reach,
                           int64_t head_dim);

// The part of scratch that relative vectors take, at the beginning.
int64_t RelativeScratchSize(const AttentionOptions& options, int64_t head_dim);

// The slopes of linear biases, 2^(-8 h / heads) for head h = 1, 2, ...
// Source: Press et al. 2022 (ALiBi), section 3.
void LinearBiasSlopes(std::span<float> slopes);

// Floats that the weights of one group take: [heads, num_queries,
// PaddedKeys(num_keys)], zero where a query does not see a key.
int64_t AttentionWeightsSize(const AttentionGroup& group, int64_t num_heads);

// dst[q] for every query of every group; weights (before dropout) where a
// group asks for them. A query that sees no key gets zeros.
//   query, dst  [rows, heads * head_dim]
//   scratch  [AttentionScratchSize]
void AttentionForward(Matrix query, std::span<const AttentionGroup> groups,
                      const AttentionOptions& options, float* scratch,
                      Matrix dst);

// Writes the gradients of query, keys and values, of every row that a group
// names; adds those of masks and relative vectors, where there are such.
// Requires: groups carry weights from forward, d_keys and d_values; the dropout
// key is forward's.
void AttentionBackward(Matrix query, Matrix d_dst,
                       std::span<const AttentionGroup> groups,
                       const AttentionOptions& options, float* scratch,
                       Matrix d_query);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ATTENTION_H_
