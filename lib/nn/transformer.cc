#include "lib/nn/transformer.h"

#include <cmath>
#include <numeric>
#include <string>

#include "lib/base/error.h"
#include "lib/ops/cross_entropy.h"
#include "lib/ops/embedding.h"

namespace pipeformer {
namespace {

// Rows of logits that exist at a time: 256 x 8,000 floats are 8 MB.
constexpr int64_t kLogitRows = 256;

std::unique_ptr<LayerNorm> MakeFinalNorm(ParameterTable& table,
                                         const std::string& name,
                                         const TransformerConfig& config) {
  if (config.final_norm == FinalNorm::kAuto &&
      config.norm == NormPlace::kPost) {
    return nullptr;
  }
  return std::make_unique<LayerNorm>(table, name, config.d_model);
}

const Parameter* DeclareEmbedding(ParameterTable& table,
                                  const std::string& name, int64_t vocab,
                                  int64_t d_model) {
  const float deviation = 1 / std::sqrt(static_cast<float>(d_model));
  return &table.DeclareMatrix(name, vocab, d_model, {.normal = deviation});
}

// The number of each row within its sentence, on the arena.
std::span<const int32_t> PositionsOf(Context& context, Ragged batch) {
  auto* position = context.arena.Array<int32_t>(batch.rows());
  for (int64_t s = 0; s < batch.sentences(); ++s) {
    const int32_t begin = batch.offsets[static_cast<size_t>(s)];
    const int32_t end = batch.offsets[static_cast<size_t>(s) + 1];
    std::iota(position + begin, position + end, 0);
  }
  return {position, static_cast<size_t>(batch.rows())};
}

}  // namespace

TransformerStacks::TransformerStacks(ParameterTable& table,
                                     const TransformerConfig& config) {
  encoder_.reserve(static_cast<size_t>(config.encoder_layers));
  for (int l = 0; l < config.encoder_layers; ++l) {
    encoder_.emplace_back(table, "encoder.layers." + std::to_string(l) + ".",
                          config, l, Mask::kNone);
  }
  encoder_norm_ = MakeFinalNorm(table, "encoder.norm", config);
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int l = 0; l < config.decoder_layers; ++l) {
    decoder_.emplace_back(table, "decoder.layers." + std::to_string(l) + ".",
                          config, l);
  }
  decoder_norm_ = MakeFinalNorm(table, "decoder.norm", config);
}

Variable TransformerStacks::Encode(Context& context, Variable x,
                                   std::span<const int32_t> offsets) const {
  for (const EncoderLayer& layer : encoder_) {
    Scratch scratch(context);
    x = scratch.Keep(layer(context, x, offsets));
  }
  return encoder_norm_ == nullptr ? x : (*encoder_norm_)(context, x);
}

Variable TransformerStacks::Decode(Context& context, Variable x,
                                   const DecoderInput& input) const {
  for (const DecoderLayer& layer : decoder_) {
    Scratch scratch(context);
    x = scratch.Keep(layer(context, x, input));
  }
  return decoder_norm_ == nullptr ? x : (*decoder_norm_)(context, x);
}

Variable TransformerStacks::DecodeStep(Context& context, Variable x,
                                       DecoderCache& cache) const {
  for (const DecoderLayer& layer : decoder_) {
    Scratch scratch(context);
    x = scratch.Keep(layer(context, x, cache));
  }
  return decoder_norm_ == nullptr ? x : (*decoder_norm_)(context, x);
}

void TransformerStacks::CacheMemory(
    Context& context, Variable memory, std::span<const int32_t> memory_offsets,
    std::span<SentenceCache* const> sentences) const {
  for (const DecoderLayer& layer : decoder_) {
    layer.cross().CacheMemory(context, memory, memory_offsets, sentences);
  }
}

Transformer::Transformer(const TransformerConfig& config)
    : config_(config),
      source_embedding_(DeclareEmbedding(parameters_,
                                         config.tied_embeddings
                                             ? "embedding.weight"
                                             : "source_embedding.weight",
                                         config.source_vocab, config.d_model)),
      target_embedding_(
          config.tied_embeddings
              ? source_embedding_
              : DeclareEmbedding(parameters_, "target_embedding.weight",
                                 config.target_vocab, config.d_model)),
      stacks_(parameters_, config) {
  Check(!config.tied_embeddings || config.source_vocab == config.target_vocab,
        "tied embeddings need one vocabulary");
  const Parameter* weight =
      config.tied_embeddings
          ? source_embedding_
          : &parameters_.DeclareMatrix(
                "output.weight", config.target_vocab, config.d_model,
                GlorotUniform(config.target_vocab, config.d_model));
  output_ = Linear(weight, &parameters_.DeclareVector("output.bias",
                                                      config.target_vocab, 0));
  positions_.resize(static_cast<size_t>(config.max_positions * config.d_model));
  SinusoidalPositions(
      DenseMatrix(positions_.data(), config.max_positions, config.d_model));
}

void Transformer::Pack() {
  const auto pack = [](Linear& linear) { linear.Pack(); };
  stacks_.ForEachLinear(pack);
  pack(output_);
}

Variable Transformer::EmbedWhole(Context& context, const Parameter& table,
                                 Ragged batch) const {
  const float scale = std::sqrt(static_cast<float>(config_.d_model));
  const Variable x = Embed(context, table, batch.ids, scale);
  AddPositions(PositionsOf(context, batch),
               DenseMatrix(const_cast<float*>(positions_.data()),
                           config_.max_positions, config_.d_model),
               x.value);
  return DropoutOf(context, x, config_.dropout);
}

Variable Transformer::Encode(Context& context, Ragged source) const {
  return stacks_.Encode(
      context, EmbedWhole(context, *source_embedding_, source), source.offsets);
}

Variable Transformer::Decode(Context& context, Ragged target, Variable memory,
                             std::span<const int32_t> memory_offsets) const {
  return stacks_.Decode(context,
                        EmbedWhole(context, *target_embedding_, target),
                        {target.offsets, memory, memory_offsets});
}

Variable Transformer::DecodeStep(Context& context, std::span<const int32_t> ids,
                                 DecoderCache& cache) const {
  const float scale = std::sqrt(static_cast<float>(config_.d_model));
  const Variable x = Embed(context, *target_embedding_, ids, scale);
  auto* position =
      context.arena.Array<int32_t>(static_cast<int64_t>(ids.size()));
  for (size_t r = 0; r < ids.size(); ++r) {
    position[r] = static_cast<int32_t>(cache.hypotheses()[r].rows.size()) - 1;
  }
  AddPositions({position, ids.size()},
               DenseMatrix(const_cast<float*>(positions_.data()),
                           config_.max_positions, config_.d_model),
               x.value);
  return stacks_.DecodeStep(context, x, cache);
}

LossSum Transformer::Loss(Context& context, Variable hidden,
                          std::span<const int32_t> targets,
                          LossOptions options) const {
  LossSum sum;
  sum.pieces = hidden.rows();
  const auto mark = context.arena.mark();
  const Matrix logits = context.arena.NewMatrix(
      std::min(kLogitRows, hidden.rows()), config_.target_vocab);
  for (int64_t begin = 0; begin < hidden.rows(); begin += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, hidden.rows() - begin);
    const Matrix x = hidden.value.Rows(begin, rows);
    const Matrix piece = logits.Rows(0, rows);
    output_.Apply(context, x, piece);
    sum.smoothed += CrossEntropyInPlace(
        piece,
        targets.subspan(static_cast<size_t>(begin), static_cast<size_t>(rows)),
        {options.label_smoothing, options.gradient_scale}, &sum.plain);
    if (context.tape != nullptr) {
      output_.Backward(context.gradients, x, piece,
                       hidden.grad.Rows(begin, rows));
    }
  }
  context.arena.Rewind(mark);
  return sum;
}

void Transformer::TargetLogProbs(Context& context, Variable hidden,
                                 std::span<const int32_t> targets,
                                 std::span<float> log_probs) const {
  const auto mark = context.arena.mark();
  const Matrix logits = context.arena.NewMatrix(
      std::min(kLogitRows, hidden.rows()), config_.target_vocab);
  for (int64_t begin = 0; begin < hidden.rows(); begin += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, hidden.rows() - begin);
    output_.Infer(hidden.value.Rows(begin, rows), logits.Rows(0, rows));
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = logits.Row(r);
      const auto at = static_cast<size_t>(begin + r);
      log_probs[at] = row[targets[at]] - LogSumExp(row, config_.target_vocab);
    }
  }
  context.arena.Rewind(mark);
}

}  // namespace pipeformer
