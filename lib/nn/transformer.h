// The Transformer of Vaswani et al. 2017: figure 1, from piece ids to logits;
// or, as a language model, its decoder alone.
//
// Whole sequences (training, scoring, inspecting):
//   hidden = Predict(batch);  logits = output()(hidden)
// Step by step (searching):
//   CacheSource(batch), then DecodeStep for each new position.
// Both run the same layers and give the same numbers, to the last bit.
#ifndef PIPEFORMER_LIB_NN_TRANSFORMER_H_
#define PIPEFORMER_LIB_NN_TRANSFORMER_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/decoder_cache.h"
#include "lib/nn/layers.h"
#include "lib/nn/linear.h"
#include "lib/nn/output_loss.h"
#include "lib/nn/pair_batch.h"
#include "lib/nn/positions.h"
#include "lib/nn/ragged.h"

namespace pipeformer {

// The two stacks without embeddings: what torch.nn.Transformer is.
class TransformerStacks {
 public:
  // Declares encoder.layers.N..., decoder.layers.N... .
  TransformerStacks(ParameterTable& table, const TransformerConfig& config);

  // x [source rows, d_model] -> memory, the same shape.
  Variable Encode(Context& context, Variable x,
                  std::span<const int32_t> offsets,
                  std::span<const SentenceMask> masks = {}) const;

  // x [target rows, d_model] -> hidden, the same shape.
  Variable Decode(Context& context, Variable x,
                  const DecoderInput& input) const;

  // x [hypotheses, d_model] -> hidden, the same shape.
  Variable DecodeStep(Context& context, Variable x, DecoderCache& cache) const;

  // Gives every layer's keys and values of the source to `sentences`.
  void CacheMemory(Context& context, Variable memory,
                   std::span<const int32_t> memory_offsets,
                   std::span<SentenceCache* const> sentences) const;

  template <class Visit>
  void ForEachLinear(Visit visit) {
    for (EncoderLayer& layer : encoder_) layer.ForEachLinear(visit);
    for (DecoderLayer& layer : decoder_) layer.ForEachLinear(visit);
  }

 private:
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  std::unique_ptr<LayerNorm> encoder_norm_, decoder_norm_;  // or null
};

class Transformer {
 public:
  // Declares all parameters; they have no values yet.
  explicit Transformer(const TransformerConfig& config);
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  const TransformerConfig& config() const { return config_; }
  ParameterTable& parameters() { return parameters_; }
  const ParameterTable& parameters() const { return parameters_; }

  // Prepares for inference after the values are set or changed. Layers and
  // output multiply in `precision`; embeddings, attention and normalisation are
  // single precision always.
  void Pack(Precision precision = Precision::kFloat32);

  // Hidden states [targets, d_model]: row i is to predict batch.targets()[i].
  // Requires: the batch was made for this configuration; no sequence is longer
  // than max_positions.
  Variable Predict(Context& context, const PairBatch& batch) const;

  // Prepares the search for pairs whose targets are empty: encodes the
  // sources into `sentences`, and puts there what precedes the last row of
  // each sequence. The search goes on with that row's piece.
  void CacheSource(Context& context, const PairBatch& batch,
                   std::span<SentenceCache* const> sentences) const;

  // Hidden states [hypotheses, d_model] of one more position each: the piece
  // ids[r] at the position of hypothesis r's newest row.
  Variable DecodeStep(Context& context, std::span<const int32_t> ids,
                      DecoderCache& cache) const;

  // The output layer, hidden [rows, d_model] -> logits [rows, target_vocab].
  const Linear& output() const { return output_; }

  // The loss of predicting `targets` [rows] from hidden [rows, d_model].
  // As OutputLoss.
  LossSum Loss(Context& context, Variable hidden,
               std::span<const int32_t> targets, LossOptions options) const;

  // Calls see(first, logits) for part after part of the vocabulary: logits
  // [rows, n] of the pieces from `first` on, which exist only then. With few
  // rows, 128 or so, they stay in the cache.
  using SeeLogitPart = Linear::SeePart;
  void ForEachLogitPart(Context& context, Matrix hidden,
                        const SeeLogitPart& see) const;

  // Calls see(r, logits, lse) for every row r of hidden [rows, d_model]: its
  // logits [target_vocab], which exist only then, and the logarithm of the sum
  // of their exponentials; log p(piece) = logits[piece] - lse.
  using SeeLogits = std::function<void(
      int64_t row, std::span<const float> logits, float lse)>;
  void ForEachLogits(Context& context, Variable hidden,
                     const SeeLogits& see) const;

 private:
  using Side = EmbeddingPositions::Side;

  Variable EmbedAt(Context& context, Side side, std::span<const int32_t> ids,
                   std::span<const int32_t> position) const;
  Variable EmbedWhole(Context& context, Side side, Ragged batch) const;
  Variable Encode(Context& context, Ragged source) const;

  TransformerConfig config_;
  ParameterTable parameters_;
  const Parameter* source_embedding_;
  const Parameter* target_embedding_;
  EmbeddingPositions positions_;
  TransformerStacks stacks_;
  Linear output_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_TRANSFORMER_H_
