// What a network is given for a batch of pairs and what it has to predict: the
// one place that knows where the special pieces stand.
//
//   encoder-decoder            encoder  source </s>      decoder  <s> target
//   language model, pairs      <s> source </s> target
//   language model, sentences  <s> source target
//
// Predicted are, one row later, the target and </s>. The source of a sentence
// is what is given of it: nothing in training, the beginning in decoding.
#ifndef PIPEFORMER_LIB_NN_PAIR_BATCH_H_
#define PIPEFORMER_LIB_NN_PAIR_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/config.h"
#include "lib/nn/ragged.h"

namespace pipeformer {

// kTarget  the target and its end symbol
// kBoth    of a language model also the source and its end symbol
enum class Predict { kTarget, kBoth };

class PairBatch {
 public:
  PairBatch(const TransformerConfig& config, Boundary boundary,
            Predict predict = Predict::kTarget)
      : is_language_model_(config.is_language_model()),
        ends_prompt_(config.trained_on == TrainedOn::kPairs),
        predict_(predict),
        boundary_(boundary) {}

  void Clear();
  void Append(std::span<const int32_t> source, std::span<const int32_t> target);

  // Rows that the decoder has before the first piece of a target: `<s>`, in a
  // language model with the source.
  int64_t PromptRows(int64_t source_pieces) const;

  // Pieces predicted for a pair of these lengths.
  int64_t NumTargets(int64_t source_pieces, int64_t target_pieces) const;

  Ragged source() const { return source_.view(); }      // of the encoder
  Ragged sequence() const { return sequence_.view(); }  // of the decoder

  // The piece predicted by row rows()[i] of the sequences; those of pair s
  // are numbers offsets[s] up to offsets[s + 1].
  Ragged targets() const { return targets_.view(); }
  std::span<const int32_t> rows() const { return rows_; }

  bool PredictsEveryRow() const { return rows_.size() == sequence_.ids.size(); }

 private:
  bool is_language_model_;
  bool ends_prompt_;
  Predict predict_;
  Boundary boundary_;
  RaggedIds source_, sequence_, targets_;
  std::vector<int32_t> rows_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_PAIR_BATCH_H_
