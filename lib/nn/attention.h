// Multi-head attention, section 3.2.2 of Vaswani et al. 2017, in its two uses:
// a sequence attending to itself and a target attending to a source.
#ifndef PIPEFORMER_LIB_NN_ATTENTION_H_
#define PIPEFORMER_LIB_NN_ATTENTION_H_

#include <span>
#include <string>

#include "lib/nn/context.h"
#include "lib/nn/decoder_cache.h"
#include "lib/nn/linear.h"

namespace pipeformer {

// Which keys a query sees.
enum class Mask { kNone, kCausal };

struct AttentionConfig {
  int64_t d_model = 512;
  int64_t num_heads = 8;
  float dropout = 0;  // on the weights
  AttentionKind kind = AttentionKind::kEncoder;
  int layer = 0;
  Mask mask = Mask::kNone;
};

class MultiHeadAttention {
 public:
  MultiHeadAttention() = default;
  // Declares in_proj_weight [3 d, d], in_proj_bias, out_proj.weight and
  // out_proj.bias under `name`, as PyTorch does.
  MultiHeadAttention(ParameterTable& table, const std::string& name,
                     const AttentionConfig& config);

  // Whole sequences attending to themselves.
  //   x  [rows, d_model], sentences divided by `offsets` [sentences + 1]
  Variable SelfAttention(Context& context, Variable x,
                         std::span<const int32_t> offsets) const;

  // One decoding step: each row of x is the newest position of a hypothesis.
  Variable SelfAttention(Context& context, Variable x,
                         DecoderCache& cache) const;

  // Whole target sequences attending to their source sentences.
  //   memory  [memory rows, d_model], the encoder's output
  Variable CrossAttention(Context& context, Variable x,
                          std::span<const int32_t> offsets, Variable memory,
                          std::span<const int32_t> memory_offsets) const;

  // One decoding step against the memory that the cache holds.
  Variable CrossAttention(Context& context, Variable x,
                          DecoderCache& cache) const;

  // Projects the memory of sentences to keys and values for the steps to come.
  void CacheMemory(Context& context, Variable memory,
                   std::span<const int32_t> memory_offsets,
                   std::span<SentenceCache* const> sentences) const;

  // The projections in use, each once.
  template <class Visit>
  void ForEachLinear(Visit visit) {
    if (config_.kind == AttentionKind::kCross) {
      visit(query_);
      visit(key_value_);
    } else {
      visit(in_);
    }
    visit(out_);
  }

 private:
  Variable Attend(Context& context, Variable query, Variable key,
                  Variable value, std::span<AttentionGroup> groups) const;
  AttentionOptions Options(const Matrix& key, const Matrix& value) const;
  void Step(Context& context, Matrix query, std::span<AttentionGroup> groups,
            const AttentionOptions& options, Matrix dst) const;

  AttentionConfig config_;
  Linear in_;         // query, key and value at once
  Linear query_;      // the first d rows of in_
  Linear key_value_;  // the other 2 d rows
  Linear out_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_ATTENTION_H_
