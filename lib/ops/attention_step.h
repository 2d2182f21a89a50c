// Attention of one decoding step: one query for each hypothesis, the hypotheses
// of a sentence together over the keys and values that its cache holds. What a
// query gets is what attention.h gives it in the whole sequence, to the last
// bit; here the work runs side by side over heads and hypotheses, since a query
// alone is one long chain of additions.
#ifndef PIPEFORMER_LIB_OPS_ATTENTION_STEP_H_
#define PIPEFORMER_LIB_OPS_ATTENTION_STEP_H_

#include <cstdint>
#include <span>

#include "lib/ops/attention.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// Queries of a sentence whose work runs side by side.
inline constexpr int64_t kStepQueries = 6;

// One query, which stands at the place of its last key.
struct StepQuery {
  int64_t num_keys = 0;
  // Key j lies in row key_rows[j] [num_keys]; null: in row j, and all rows are
  // keys.
  const int32_t* key_rows = nullptr;
  float* weights = nullptr;  // out, [heads, PaddedKeys(num_keys)], or null
};

// The queries of one sentence and the rows that they choose from. Keys and
// values lie together in blocks of kKeyBlock rows:
//   [width, kKeyBlock]  keys: one vector holds the same element of neighbours
//   [kKeyBlock, width]  values
struct StepGroup {
  int64_t first_query = 0;  // row of the query matrix
  std::span<StepQuery> queries = {};
  int64_t num_rows = 0;
  const float* const* blocks = nullptr;  // of all rows, in order
};

// Floats of a block; the width is that of all heads.
inline int64_t StepBlockSize(int64_t width) { return 2 * kKeyBlock * width; }

// Writes `keys` and `values` [rows, width] as the first rows of `blocks`.
void PutRows(Matrix keys, Matrix values, float* const* blocks);

// Makes `key` and `value` [width] row `row` of `blocks`.
void PutRow(const float* key, const float* value, int64_t width, int64_t row,
            float* const* blocks);

// Floats of scratch memory for a step of `groups`.
int64_t AttentionStepScratchSize(std::span<const StepGroup> groups,
                                 const AttentionOptions& options,
                                 int64_t head_dim);

// dst[q] for every query of every group. Of the options it takes the heads, the
// scale, and what depends on distances.
//   query, dst  [rows, heads * head_dim]
//   scratch  [AttentionStepScratchSize]
void AttentionStep(Matrix query, std::span<const StepGroup> groups,
                   const AttentionOptions& options, float* scratch, Matrix dst);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ATTENTION_STEP_H_
