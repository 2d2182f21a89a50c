#include "lib/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/base/error.h"
#include "lib/nn/extra_keys.h"

namespace pipeformer {
namespace {

bool IsSame(const Variable& a, const Variable& b) {
  return a.value.data == b.value.data;
}

// One group a sentence, on the arena.
std::span<AttentionGroup> WholeSentences(Context& context,
                                         const AttentionInput& in,
                                         std::span<const int32_t> key_offsets,
                                         Variable key, Variable value) {
  const size_t count = in.query_offsets.size() - 1;
  AttentionGroup* groups =
      context.arena.Array<AttentionGroup>(static_cast<int64_t>(count));
  const bool backward = context.tape != nullptr;
  for (size_t s = 0; s < count; ++s) {
    const int64_t first = key_offsets[s];
    const int64_t query = in.query_offsets[s];
    const SentenceMask mask = in.masks.empty() ? SentenceMask{} : in.masks[s];
    groups[s] = {.first_query = query,
                 .num_queries = in.query_offsets[s + 1] - query,
                 .num_keys = key_offsets[s + 1] - first,
                 .keys = key.value.Row(first),
                 .values = value.value.Row(first),
                 .mask = mask.values,
                 .mask_head_stride = mask.head_stride,
                 .d_keys = backward ? key.grad.Row(first) : nullptr,
                 .d_values = backward ? value.grad.Row(first) : nullptr,
                 .d_mask = backward ? mask.gradient : nullptr};
  }
  return {groups, count};
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(ParameterTable& table,
                                       const std::string& prefix,
                                       const AttentionConfig& config)
    : config_(config) {
  const int64_t d = config.d_model;
  Check(d % config.num_heads == 0, "d_model must be divisible by num_heads");
  Check(config.extra_keys() == 0 ||
            (config.mask == Mask::kNone && config.window == 0 &&
             config.positions == nullptr),
        "extra keys have no place: give them a mask with explicit values");
  DeclareProjections(table, prefix);
  // The extra vectors come between, where PyTorch has them.
  if (config.bias_kv) {
    const Initializer normal{.normal = 1 / std::sqrt(static_cast<float>(d))};
    const auto declare = [&](const char* name) {
      Parameter& p = table.DeclareMatrix(prefix + name, 1, d, normal);
      p.rank = 3;
      return &p;
    };
    bias_key_ = declare("bias_k");
    bias_value_ = declare("bias_v");
  }
  const Parameter& out_weight = table.DeclareMatrix(prefix + "out_proj.weight",
                                                    d, d, GlorotUniform(d, d));
  out_ = Linear(&out_weight, config.bias ? &table.DeclareVector(
                                               prefix + "out_proj.bias", d, 0)
                                         : nullptr);
  if (config.positions != nullptr &&
      config.positions->kind == PositionKind::kRelative) {
    const int64_t rows = 2 * config.positions->clip + 1;
    const int64_t head_dim = d / config.num_heads;
    const Initializer uniform = GlorotUniform(rows, head_dim);
    relative_key_ =
        &table.DeclareMatrix(prefix + "relative_key", rows, head_dim, uniform);
    relative_value_ = &table.DeclareMatrix(prefix + "relative_value", rows,
                                           head_dim, uniform);
  }
}

void MultiHeadAttention::DeclareProjections(ParameterTable& table,
                                            const std::string& prefix) {
  const int64_t d = config_.d_model;
  const auto declare_bias = [&] {
    return config_.bias
               ? &table.DeclareVector(prefix + "in_proj_bias", 3 * d, 0)
               : nullptr;
  };
  if (!config_.same_widths()) {
    const auto declare = [&](const char* name, int64_t in) {
      return &table.DeclareMatrix(prefix + name, d, in == 0 ? d : in,
                                  GlorotUniform(d, in == 0 ? d : in));
    };
    const Parameter* query = declare("q_proj_weight", d);
    const Parameter* key = declare("k_proj_weight", config_.key_dim);
    const Parameter* value = declare("v_proj_weight", config_.value_dim);
    const Parameter* bias = declare_bias();
    query_ = Linear(query, bias);
    key_ = Linear(key, bias, d);
    value_ = Linear(value, bias, 2 * d);
    return;
  }
  // The range is that of the whole [3 d, d], so that queries, keys and values
  // begin smaller than the output projection, as in PyTorch and fairseq.
  const Parameter& weight = table.DeclareMatrix(
      prefix + "in_proj_weight", 3 * d, d, GlorotUniform(3 * d, d));
  in_ = Linear(&weight, declare_bias());
  query_ = in_.Rows(0, d);
  key_ = in_.Rows(d, d);
  value_ = in_.Rows(2 * d, d);
  key_value_ = in_.Rows(d, 2 * d);
}

AttentionOptions MultiHeadAttention::Options(const Matrix& key,
                                             const Matrix& value,
                                             float* gradients) const {
  const int64_t head_dim = config_.d_model / config_.num_heads;
  AttentionOptions options{
      .num_heads = config_.num_heads,
      .scale = config_.scale == AttentionScale::kNone
                   ? 1.0f
                   : 1.0f / std::sqrt(static_cast<float>(head_dim)),
      .causal = config_.mask == Mask::kCausal,
      .window = config_.window,
      .key_stride = key.stride,
      .value_stride = value.stride};
  if (config_.positions != nullptr && !config_.positions->slopes.empty()) {
    options.slopes = config_.positions->slopes.data();
  }
  if (relative_key_ != nullptr) {
    options.relative = {.clip = config_.positions->clip,
                        .keys = relative_key_->value.data,
                        .values = relative_value_->value.data};
    if (gradients != nullptr) {
      options.relative.d_keys = GradientOf(*relative_key_, gradients).data;
      options.relative.d_values = GradientOf(*relative_value_, gradients).data;
    }
  }
  return options;
}

// The angles of rotary positions; without data where there are none.
Matrix MultiHeadAttention::Angles() const {
  if (config_.positions == nullptr || config_.positions->angles.empty()) {
    return {};
  }
  return config_.positions->AngleMatrix(config_.d_model / config_.num_heads);
}

MultiHeadAttention::Projected MultiHeadAttention::Project(
    Context& context, const AttentionInput& in) const {
  const int64_t d = config_.d_model;
  if (config_.same_widths() && IsSame(in.key, in.value)) {
    if (IsSame(in.query, in.key)) {
      const Variable all = in_(context, in.query);  // [rows, 3 d]
      return {all.Columns(0, d), all.Columns(d, d), all.Columns(2 * d, d)};
    }
    const Variable query = query_(context, in.query);
    const Variable both = key_value_(context, in.key);  // [rows, 2 d]
    return {query, both.Columns(0, d), both.Columns(d, d)};
  }
  const Variable query = query_(context, in.query);
  const Variable key = key_(context, in.key);
  return {query, key, value_(context, in.value)};
}

void MultiHeadAttention::AppendExtraKeys(
    Context& context, Projected& p,
    std::span<const int32_t>& key_offsets) const {
  const auto append = [&](const Parameter* key, const Parameter* value) {
    p.key = AppendRow(context, p.key, key_offsets, key);
    p.value = AppendRow(context, p.value, key_offsets, value);
    key_offsets = WithOneMore(context, key_offsets);
  };
  if (config_.bias_kv) append(bias_key_, bias_value_);
  if (config_.zero_attention) append(nullptr, nullptr);
}

Variable MultiHeadAttention::operator()(Context& context,
                                        const AttentionInput& in) const {
  Projected p = Project(context, in);
  if (const Matrix angles = Angles(); angles.data != nullptr) {
    const auto places = PositionsOf(context, in.query_offsets);
    const bool same = in.query_offsets.data() == in.key_offsets.data();
    Rotate(context, places, angles, p.query);
    Rotate(context, same ? places : PositionsOf(context, in.key_offsets),
           angles, p.key);
  }
  if (!in.keep.empty()) {
    KeepHistory(config_.layer, p.key.value, p.value.value, in.key_offsets,
                in.keep);
  }
  std::span<const int32_t> key_offsets = in.key_offsets;
  AppendExtraKeys(context, p, key_offsets);
  const auto groups = WholeSentences(context, in, key_offsets, p.key, p.value);
  return out_(context, Attend(context, p, groups));
}

Variable MultiHeadAttention::Attend(Context& context, const Projected& p,
                                    std::span<AttentionGroup> groups) const {
  const Timed timed(context.TimeOf(Op::kAttention));
  AttentionOptions options =
      Options(p.key.value, p.value.value, context.gradients);
  options.dropout = context.NextDropout(config_.dropout);
  const Variable y = context.New(p.query.rows(), p.query.width());
  float* scratch = Run(context, p.query.value, groups, options, y.value);
  if (context.tape != nullptr) {
    context.tape->Record(Op::kAttention, context.arena,
                         [p, y, groups, options, scratch] {
                           if (!*y.has_grad) return;
                           AttentionBackward(p.query.value, y.grad, groups,
                                             options, scratch, p.query.grad);
                           for (const Variable& x : {p.query, p.key, p.value}) {
                             *x.has_grad = true;
                           }
                         });
  }
  return y;
}

// Runs the kernel and shows its weights. Gives the scratch, which backward may
// use again; without a tape it is free.
float* MultiHeadAttention::Run(Context& context, Matrix query,
                               std::span<AttentionGroup> groups,
                               const AttentionOptions& options,
                               Matrix dst) const {
  const auto mark = context.arena.mark();
  if (context.tape != nullptr || context.probe != nullptr) {
    for (AttentionGroup& g : groups) {
      g.weights = context.arena.Array<float>(
          AttentionWeightsSize(g, config_.num_heads));
    }
  }
  float* scratch = context.arena.Array<float>(AttentionScratchSize(
      groups, options, config_.d_model / config_.num_heads));
  AttentionForward(query, groups, options, scratch, dst);
  if (context.probe != nullptr) {
    context.probe->See(config_.kind, config_.layer, groups);
  }
  if (context.tape == nullptr) context.arena.Rewind(mark);
  return scratch;
}

// Runs the kernel of a step and shows its weights.
Variable MultiHeadAttention::RunStep(Context& context, Matrix query,
                                     std::span<StepGroup> groups) const {
  const int64_t heads = config_.num_heads;
  const Variable y = context.New(query.rows, query.cols);
  const auto mark = context.arena.mark();
  std::vector<AttentionGroup> seen;  // one a query
  if (context.probe != nullptr) {
    for (const StepGroup& g : groups) {
      for (StepQuery& q : g.queries) {
        AttentionGroup& one = seen.emplace_back();
        one.first_query = static_cast<int64_t>(seen.size()) - 1;
        one.num_queries = 1;
        one.num_keys = q.num_keys;
        one.weights =
            context.arena.Array<float>(AttentionWeightsSize(one, heads));
        q.weights = one.weights;
      }
    }
  }
  const AttentionOptions options = Options(query, query, nullptr);
  float* scratch = context.arena.Array<float>(
      AttentionStepScratchSize(groups, options, query.cols / heads));
  AttentionStep(query, groups, options, scratch, y.value);
  if (context.probe != nullptr) {
    context.probe->See(config_.kind, config_.layer, seen);
  }
  context.arena.Rewind(mark);
  return y;
}

Variable MultiHeadAttention::SelfStep(Context& context, Variable x,
                                      DecoderCache& cache) const {
  const int64_t d = config_.d_model;
  const Variable projected = in_(context, x);  // [rows, 3 d]
  if (const Matrix angles = Angles(); angles.data != nullptr) {
    // Queries and keys stand together, so one turn serves both.
    Rotate(context, cache.positions(), angles, projected.Columns(0, 2 * d));
  }
  const auto groups =
      cache.AppendSelf(config_.layer, projected.value.Columns(d, d),
                       projected.value.Columns(2 * d, d));
  return out_(context, RunStep(context, projected.value.Columns(0, d), groups));
}

Variable MultiHeadAttention::CrossStep(Context& context, Variable x,
                                       DecoderCache& cache) const {
  const Matrix query = query_(context, x).value;
  return out_(context, RunStep(context, query, cache.Cross(config_.layer)));
}

void MultiHeadAttention::CacheMemory(
    Context& context, Variable memory, std::span<const int32_t> memory_offsets,
    std::span<SentenceCache* const> sentences) const {
  const auto mark = context.arena.mark();
  const int64_t d = config_.d_model;
  const Matrix projected = key_value_(context, memory).value;  // [rows, 2 d]
  KeepSource(config_.layer, projected.Columns(0, d), projected.Columns(d, d),
             memory_offsets, sentences);
  context.arena.Rewind(mark);
}

}  // namespace pipeformer
