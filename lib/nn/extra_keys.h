// One row more after those of every sentence: the extra keys and values that
// PyTorch's add_bias_kv and add_zero_attn give an attention.
#ifndef PIPEFORMER_LIB_NN_EXTRA_KEYS_H_
#define PIPEFORMER_LIB_NN_EXTRA_KEYS_H_

#include <cstdint>
#include <span>

#include "lib/nn/context.h"
#include "lib/nn/parameter.h"

namespace pipeformer {

// The rows of x [rows, width] with one more after each sentence: `extra`
// [1, width], or zeros where it is null. Recorded.
Variable AppendRow(Context& context, Variable x,
                   std::span<const int32_t> offsets, const Parameter* extra);

// The offsets of the result, on the arena.
std::span<const int32_t> WithOneMore(Context& context,
                                     std::span<const int32_t> offsets);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_EXTRA_KEYS_H_
