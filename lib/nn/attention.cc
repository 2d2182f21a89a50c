#include "lib/nn/attention.h"

#include <algorithm>
#include <cmath>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// One group a sentence, on the arena.
std::span<AttentionGroup> WholeSentences(Context& context,
                                         std::span<const int32_t> offsets,
                                         std::span<const int32_t> key_offsets,
                                         Variable key, Variable value) {
  const size_t count = offsets.size() - 1;
  AttentionGroup* groups =
      context.arena.Array<AttentionGroup>(static_cast<int64_t>(count));
  const bool backward = context.tape != nullptr;
  for (size_t s = 0; s < count; ++s) {
    const int64_t first = key_offsets[s];
    groups[s] = {.first_query = offsets[s],
                 .num_queries = offsets[s + 1] - offsets[s],
                 .num_keys = key_offsets[s + 1] - first,
                 .keys = key.value.Row(first),
                 .values = value.value.Row(first),
                 .d_keys = backward ? key.grad.Row(first) : nullptr,
                 .d_values = backward ? value.grad.Row(first) : nullptr};
  }
  return {groups, count};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(ParameterTable& table,
                                       const std::string& name,
                                       const AttentionConfig& config)
    : config_(config) {
  const int64_t d = config.d_model;
  Check(d % config.num_heads == 0, "d_model must be divisible by num_heads");
  // The range is that of the whole [3 d, d], so that queries, keys and values
  // begin smaller than the output projection, as in PyTorch and fairseq.
  // One statement each: arguments are evaluated in any order.
  const Parameter& in_weight = table.DeclareMatrix(
      name + ".in_proj_weight", 3 * d, d, GlorotUniform(3 * d, d));
  in_ = Linear(&in_weight,
               &table.DeclareVector(name + ".in_proj_bias", 3 * d, 0));
  const Parameter& out_weight =
      table.DeclareMatrix(name + ".out_proj.weight", d, d, GlorotUniform(d, d));
  out_ =
      Linear(&out_weight, &table.DeclareVector(name + ".out_proj.bias", d, 0));
  query_ = in_.Rows(0, d);
  key_value_ = in_.Rows(d, 2 * d);
}

AttentionOptions MultiHeadAttention::Options(const Matrix& key,
                                             const Matrix& value) const {
  const auto head_dim = static_cast<float>(config_.d_model / config_.num_heads);
  return {.num_heads = config_.num_heads,
          .scale = 1.0f / std::sqrt(head_dim),
          .causal = config_.mask == Mask::kCausal,
          .key_stride = key.stride,
          .value_stride = value.stride};
}

Variable MultiHeadAttention::Attend(Context& context, Variable query,
                                    Variable key, Variable value,
                                    std::span<AttentionGroup> groups) const {
  AttentionOptions options = Options(key.value, value.value);
  options.dropout = context.NextDropout(config_.dropout);
  Variable y = context.New(query.rows(), query.width());
  if (context.tape == nullptr) {
    Step(context, query.value, groups, options, y.value);
    return y;
  }
  for (AttentionGroup& g : groups) {
    g.weights =
        context.arena.Array<float>(AttentionWeightsSize(g, config_.num_heads));
  }
  float* scratch = context.arena.Array<float>(
      AttentionScratchSize(groups, config_.d_model / config_.num_heads));
  AttentionForward(query.value, groups, options, scratch, y.value);
  context.tape->Record(context.arena, [query, y, groups, options, scratch] {
    AttentionBackward(query.value, y.grad, groups, options, scratch,
                      query.grad);
  });
  return y;
}

void MultiHeadAttention::Step(Context& context, Matrix query,
                              std::span<AttentionGroup> groups,
                              const AttentionOptions& options,
                              Matrix dst) const {
  const auto mark = context.arena.mark();
  if (context.probe != nullptr) {
    for (AttentionGroup& g : groups) {
      g.weights = context.arena.Array<float>(
          AttentionWeightsSize(g, config_.num_heads));
    }
  }
  float* scratch = context.arena.Array<float>(
      AttentionScratchSize(groups, config_.d_model / config_.num_heads));
  AttentionForward(query, groups, options, scratch, dst);
  if (context.probe != nullptr) {
    context.probe->See(config_.kind, config_.layer, groups);
  }
  context.arena.Rewind(mark);
}

Variable MultiHeadAttention::SelfAttention(
    Context& context, Variable x, std::span<const int32_t> offsets) const {
  const int64_t d = config_.d_model;
  const Variable projected = in_(context, x);  // [rows, 3 d]
  const Variable key = projected.Columns(d, d);
  const Variable value = projected.Columns(2 * d, d);
  return out_(context,
              Attend(context, projected.Columns(0, d), key, value,
                     WholeSentences(context, offsets, offsets, key, value)));
}

Variable MultiHeadAttention::SelfAttention(Context& context, Variable x,
                                           DecoderCache& cache) const {
  const int64_t d = config_.d_model;
  const Variable projected = in_(context, x);  // [rows, 3 d]
  const auto groups =
      cache.AppendSelf(config_.layer, projected.value.Columns(d, d),
                       projected.value.Columns(2 * d, d), context.arena);
  AttentionOptions options = Options(projected.value, projected.value);
  options.key_stride = options.value_stride = cache.history_stride();
  Variable y = context.New(x.rows(), d);
  Step(context, projected.value.Columns(0, d), groups, options, y.value);
  return out_(context, y);
}

Variable MultiHeadAttention::CrossAttention(
    Context& context, Variable x, std::span<const int32_t> offsets,
    Variable memory, std::span<const int32_t> memory_offsets) const {
  const int64_t d = config_.d_model;
  const Variable query = query_(context, x);
  const Variable projected = key_value_(context, memory);  // [rows, 2 d]
  const Variable key = projected.Columns(0, d);
  const Variable value = projected.Columns(d, d);
  return out_(context, Attend(context, query, key, value,
                              WholeSentences(context, offsets, memory_offsets,
                                             key, value)));
}

Variable MultiHeadAttention::CrossAttention(Context& context, Variable x,
                                            DecoderCache& cache) const {
  const Variable query = query_(context, x);
  AttentionOptions options = Options(query.value, query.value);
  options.value_stride = config_.d_model;
  Variable y = context.New(x.rows(), config_.d_model);
  Step(context, query.value, cache.Cross(config_.layer, context.arena), options,
       y.value);
  return out_(context, y);
}

void MultiHeadAttention::CacheMemory(
    Context& context, Variable memory, std::span<const int32_t> memory_offsets,
    std::span<SentenceCache* const> sentences) const {
  const auto mark = context.arena.mark();
  const int64_t d = config_.d_model;
  const Matrix projected = key_value_(context, memory).value;  // [rows, 2 d]
  for (size_t s = 0; s < sentences.size(); ++s) {
    const int64_t first = memory_offsets[s];
    const int64_t rows = memory_offsets[s + 1] - first;
    SentenceCache::Layer& layer =
        sentences[s]->layers[static_cast<size_t>(config_.layer)];
    sentences[s]->source_rows = rows;
    const AttentionGroup keys{.num_keys = rows, .keys = projected.Row(first)};
    PackKeys(keys, Options(projected, projected), d / config_.num_heads,
             layer.packed_keys.Reserve(PackedKeysSize(rows, d), 0));
    float* values = layer.source_values.Reserve(rows * d, 0);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(projected.Row(first + r) + d, d, values + r * d);
    }
  }
  context.arena.Rewind(mark);
}

}  // namespace pipeformer
