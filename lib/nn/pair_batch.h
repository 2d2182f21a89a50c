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

#include "lib/base/link.h"
#include "lib/nn/config.h"
#include "lib/nn/ragged.h"

namespace pipeformer {

// kTarget  the target and its end symbol
// kBoth    of a language model also the source and its end symbol
enum class Predict { kTarget, kBoth };

// Rows that the decoder has before the first piece of a target: `<s>`, in a
// language model with the source.
int64_t PromptRows(const TransformerConfig& config, int64_t source_pieces);

// Pieces predicted for a pair of these lengths.
int64_t NumTargets(const TransformerConfig& config, Predict predict,
                   int64_t source_pieces, int64_t target_pieces);

// The most pieces that either side of a pair may have so that every sequence
// keeps within max_positions.
int64_t MaxSidePieces(const TransformerConfig& config);

class PairBatch {
 public:
  PairBatch(const TransformerConfig& config, Boundary boundary,
            Predict predict = Predict::kTarget)
      : config_(config), boundary_(boundary), predict_(predict) {}

  void Clear();
  void Append(std::span<const int32_t> source, std::span<const int32_t> target);
  // The pair appended last counts `weight` times in the loss. Of a batch either
  // all pairs are weighed or none.
  void Weigh(float weight);
  // The pieces of its target belong to those of its source, as `links` of
  // pieces say. Of a batch either all pairs are aligned or none.
  void Align(std::span<const Link> links);

  Ragged source() const { return source_.view(); }      // of the encoder
  Ragged sequence() const { return sequence_.view(); }  // of the decoder

  // The piece predicted by row rows()[i] of the sequences; those of pair s
  // are numbers offsets[s] up to offsets[s + 1].
  Ragged targets() const { return targets_.view(); }
  std::span<const int32_t> rows() const { return rows_; }

  // The weights of the targets; none where no pair was weighed.
  std::span<const float> weights() const { return weights_; }

  bool is_aligned() const { return link_offsets_.size() > 1; }
  // The links of pair s. Requires: is_aligned().
  std::span<const Link> LinksOf(int64_t s) const;

  bool PredictsEveryRow() const { return rows_.size() == sequence_.ids.size(); }

 private:
  TransformerConfig config_;
  Boundary boundary_;
  Predict predict_;
  RaggedIds source_, sequence_, targets_;
  std::vector<int32_t> rows_;
  std::vector<float> weights_;  // [targets] or none
  std::vector<Link> links_;
  std::vector<size_t> link_offsets_{0};  // [pairs + 1], or one without links
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_PAIR_BATCH_H_
