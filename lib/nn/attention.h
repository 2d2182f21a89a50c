// Multi-head attention, section 3.2.2 of Vaswani et al. 2017, with the whole
// contract of torch.nn.MultiheadAttention: one class for the layers of the
// network and for a module on its own.
#ifndef PIPEFORMER_LIB_NN_ATTENTION_H_
#define PIPEFORMER_LIB_NN_ATTENTION_H_

#include <memory>
#include <span>
#include <string>

#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/decoder_cache.h"
#include "lib/nn/linear.h"
#include "lib/nn/positions.h"

namespace pipeformer {

struct AttentionConfig {
  int64_t d_model = 512;  // PyTorch's embed_dim
  int64_t num_heads = 8;  // divides d_model
  float dropout = 0;      // on the weights
  AttentionKind kind = AttentionKind::kEncoder;
  int layer = 0;
  Mask mask = Mask::kNone;
  AttentionScale scale = AttentionScale::kSqrt;
  int64_t window = 0;  // sees keys at most so far away; 0: all
  // What is known of distances; null for cross-attention and modules.
  std::shared_ptr<const AttentionPositions> positions = nullptr;

  // PyTorch's further options. Widths of keys and values other than d_model
  // make three projections, `q_proj_weight` and so on, out of one.
  bool bias = true;
  int64_t key_dim = 0;    // kdim; 0: d_model
  int64_t value_dim = 0;  // vdim; 0: d_model
  // One key and value more after those of every sentence, seen by every query
  // (hence not with what counts distances: mask, window and positions):
  bool bias_kv = false;         // add_bias_kv: learned ones, bias_k and bias_v
  bool zero_attention = false;  // add_zero_attn: zeros

  bool same_widths() const {
    return (key_dim == 0 || key_dim == d_model) &&
           (value_dim == 0 || value_dim == d_model);
  }
  int64_t extra_keys() const { return (bias_kv ? 1 : 0) + zero_attention; }
};

// What is added to the scores of one sentence: [num_queries, num_keys] (extra
// keys included) for each head, or once for all; minus infinity hides a key.
struct SentenceMask {
  const float* values = nullptr;  // null: none
  int64_t head_stride = 0;        // floats between heads; 0: shared
  float* gradient = nullptr;      // as `values`, or null
};

// Whole sequences. Where query, key and value are one Variable, or key and
// value are, their projections are one product.
struct AttentionInput {
  Variable query;                            // [query rows, d_model]
  Variable key;                              // [key rows, key_dim]
  Variable value;                            // [key rows, value_dim]
  std::span<const int32_t> query_offsets;    // [sentences + 1]
  std::span<const int32_t> key_offsets;      // [sentences + 1]
  std::span<const SentenceMask> masks = {};  // [sentences] or none
  // Where given, sentence s leaves its keys and values in (*keep)[s] as the
  // history of steps to come.
  std::span<SentenceCache* const> keep = {};
};

class MultiHeadAttention {
 public:
  MultiHeadAttention() = default;
  // Declares under `prefix`, as PyTorch does, in_proj_weight [3 d, d] (or
  // q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias [3 d],
  // out_proj.weight and out_proj.bias, bias_k and bias_v [1, 1, d]; with
  // relative positions relative_key and relative_value [2 clip + 1, head_dim].
  MultiHeadAttention(ParameterTable& table, const std::string& prefix,
                     const AttentionConfig& config);

  // Whole sequences; gives [query rows, d_model].
  Variable operator()(Context& context, const AttentionInput& input) const;

  // One decoding step: each row of x is the newest position of a hypothesis
  // and attends to all of its own.
  Variable SelfStep(Context& context, Variable x, DecoderCache& cache) const;

  // One decoding step against the memory that the cache holds.
  Variable CrossStep(Context& context, Variable x, DecoderCache& cache) const;

  // Projects the memory of sentences to keys and values for the steps to come.
  void CacheMemory(Context& context, Variable memory,
                   std::span<const int32_t> memory_offsets,
                   std::span<SentenceCache* const> sentences) const;

  // The projections that the network uses, each once.
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
  struct Projected {
    Variable query, key, value;
  };

  void DeclareProjections(ParameterTable& table, const std::string& prefix);
  Projected Project(Context& context, const AttentionInput& input) const;
  void AppendExtraKeys(Context& context, Projected& projected,
                       std::span<const int32_t>& key_offsets) const;
  Variable Attend(Context& context, const Projected& projected,
                  std::span<AttentionGroup> groups) const;
  float* Run(Context& context, Matrix query, std::span<AttentionGroup> groups,
             const AttentionOptions& options, Matrix dst) const;
  Variable RunStep(Context& context, Matrix query,
                   std::span<StepGroup> groups) const;
  AttentionOptions Options(const Matrix& key, const Matrix& value,
                           float* gradients) const;
  Matrix Angles() const;

  AttentionConfig config_;
  Linear in_;  // query, key and value at once
  Linear query_, key_, value_;
  Linear key_value_;  // the last two at once
  Linear out_;
  const Parameter* bias_key_ = nullptr;
  const Parameter* bias_value_ = nullptr;
  const Parameter* relative_key_ = nullptr;
  const Parameter* relative_value_ = nullptr;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_ATTENTION_H_
