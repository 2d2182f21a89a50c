#include "lib/nn/transformer.h"

#include <cmath>
#include <string>

#include "lib/base/error.h"
#include "lib/ops/cross_entropy.h"

namespace pipeformer {
namespace {

// Rows of logits that exist at a time: 256 x 8,000 floats are 8 MB.
constexpr int64_t kLogitRows = 256;

// Where the gradients of a layer lie (Tape::EnterRegion); stack 0 encodes.
size_t Region(size_t stack, size_t layer) { return 2 * stack + layer % 2; }

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

}  // namespace

TransformerStacks::TransformerStacks(ParameterTable& table,
                                     const TransformerConfig& config) {
  StackConfig stack{
      .network = config,
      .positions = std::make_shared<const AttentionPositions>(config)};
  encoder_.reserve(static_cast<size_t>(config.encoder_layers));
  for (int l = 0; l < config.encoder_layers; ++l) {
    encoder_.emplace_back(table, "encoder.layers." + std::to_string(l) + ".",
                          stack, l);
  }
  if (!encoder_.empty()) {
    encoder_norm_ = MakeFinalNorm(table, "encoder.norm", config);
  }
  stack.mask = config.decoder_mask;
  decoder_.reserve(static_cast<size_t>(config.decoder_layers));
  for (int l = 0; l < config.decoder_layers; ++l) {
    decoder_.emplace_back(table, "decoder.layers." + std::to_string(l) + ".",
                          stack, l);
  }
  if (!decoder_.empty()) {
    decoder_norm_ = MakeFinalNorm(table, "decoder.norm", config);
  }
}

Variable TransformerStacks::Encode(Context& context, Variable x,
                                   std::span<const int32_t> offsets,
                                   std::span<const SentenceMask> masks) const {
  size_t number = 0;
  for (const EncoderLayer& layer : encoder_) {
    LayerMemory memory(context, Region(0, number++));
    x = memory.Keep(layer(context, x, offsets, masks));
  }
  return encoder_norm_ == nullptr ? x : (*encoder_norm_)(context, x);
}

Variable TransformerStacks::Decode(Context& context, Variable x,
                                   const DecoderInput& input) const {
  size_t number = 0;
  for (const DecoderLayer& layer : decoder_) {
    LayerMemory memory(context, Region(1, number++));
    x = memory.Keep(layer(context, x, input));
  }
  return decoder_norm_ == nullptr ? x : (*decoder_norm_)(context, x);
}

Variable TransformerStacks::DecodeStep(Context& context, Variable x,
                                       DecoderCache& cache) const {
  size_t number = 0;
  for (const DecoderLayer& layer : decoder_) {
    LayerMemory memory(context, Region(1, number++));
    x = memory.Keep(layer(context, x, cache));
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
      source_embedding_(
          config.tied_embeddings
              ? DeclareEmbedding(parameters_, "embedding.weight",
                                 config.source_vocab, config.d_model)
          : config.is_language_model()
              ? nullptr
              : DeclareEmbedding(parameters_, "source_embedding.weight",
                                 config.source_vocab, config.d_model)),
      target_embedding_(
          config.tied_embeddings
              ? source_embedding_
              : DeclareEmbedding(parameters_, "target_embedding.weight",
                                 config.target_vocab, config.d_model)),
      positions_(parameters_, config),
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
}

void Transformer::Pack(Precision precision) {
  stacks_.ForEachLinear([=](Linear& linear) { linear.Pack(precision); });
  output_.Pack(precision, kLogitPart);
}

Variable Transformer::EmbedAt(Context& context, Side side,
                              std::span<const int32_t> ids,
                              std::span<const int32_t> position) const {
  const float scale = std::sqrt(static_cast<float>(config_.d_model));
  const Parameter& table =
      side == Side::kSource ? *source_embedding_ : *target_embedding_;
  const Variable x = Embed(context, table, ids, scale);
  positions_.Add(context, side, position, x);
  return x;
}

Variable Transformer::EmbedWhole(Context& context, Side side,
                                 Ragged batch) const {
  const Variable x =
      EmbedAt(context, side, batch.ids, PositionsOf(context, batch.offsets));
  return DropoutOf(context, x, config_.dropout);
}

Variable Transformer::Encode(Context& context, Ragged source) const {
  return stacks_.Encode(context, EmbedWhole(context, Side::kSource, source),
                        source.offsets);
}

Variable Transformer::Predict(Context& context, const PairBatch& batch) const {
  DecoderInput input{.offsets = batch.sequence().offsets};
  if (!config_.is_language_model()) {
    input.memory = Encode(context, batch.source());
    input.memory_offsets = batch.source().offsets;
  }
  const Variable hidden = stacks_.Decode(
      context, EmbedWhole(context, Side::kTarget, batch.sequence()), input);
  if (batch.PredictsEveryRow()) return hidden;
  return GatherRows(context, hidden, batch.rows());
}

void Transformer::CacheSource(Context& context, const PairBatch& batch,
                              std::span<SentenceCache* const> sentences) const {
  for (SentenceCache* sentence : sentences) sentence->history_rows = 0;
  if (!config_.is_language_model()) {
    const Ragged source = batch.source();
    stacks_.CacheMemory(context, Encode(context, source), source.offsets,
                        sentences);
    return;  // one row, the first of the search
  }
  const Ragged sequence = batch.sequence();
  RaggedIds before;
  for (size_t s = 0; s < sentences.size(); ++s) {
    const auto first = static_cast<size_t>(sequence.offsets[s]);
    const auto end = static_cast<size_t>(sequence.offsets[s + 1]) - 1;
    before.Append(-1, sequence.ids.subspan(first, end - first), -1);
    sentences[s]->history_rows = static_cast<int64_t>(end - first);
  }
  if (before.ids.empty()) return;
  stacks_.Decode(context, EmbedWhole(context, Side::kTarget, before.view()),
                 {.offsets = before.offsets, .keep = sentences});
}

Variable Transformer::DecodeStep(Context& context, std::span<const int32_t> ids,
                                 DecoderCache& cache) const {
  return stacks_.DecodeStep(
      context, EmbedAt(context, Side::kTarget, ids, cache.positions()), cache);
}

LossSum Transformer::Loss(Context& context, Variable hidden,
                          std::span<const int32_t> targets,
                          LossOptions options) const {
  const Timed timed(context.TimeOf(Op::kLoss));
  return OutputLoss(context, output_, hidden, targets, options);
}

void Transformer::ForEachLogitPart(Context& context, Matrix hidden,
                                   const SeeLogitPart& see) const {
  const auto mark = context.arena.mark();
  output_.InferParts(
      hidden, context.arena.Array<float>(hidden.rows * output_.part()), see);
  context.arena.Rewind(mark);
}

void Transformer::ForEachLogits(Context& context, Variable hidden,
                                const SeeLogits& see) const {
  const auto mark = context.arena.mark();
  const int64_t vocab = config_.target_vocab;
  const Matrix logits =
      context.arena.NewMatrix(std::min(kLogitRows, hidden.rows()), vocab);
  for (int64_t begin = 0; begin < hidden.rows(); begin += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, hidden.rows() - begin);
    output_.Infer(hidden.value.Rows(begin, rows), logits.Rows(0, rows));
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = logits.Row(r);
      see(begin + r, {row, static_cast<size_t>(vocab)}, LogSumExp(row, vocab));
    }
  }
  context.arena.Rewind(mark);
}

}  // namespace pipeformer
