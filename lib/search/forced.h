// Forced decoding: what a model thinks of a given pair. Gives the
// log-probability of every target piece and, on request, the attention of the
// whole network. For a search's own output the numbers are the search's, to
// the last bit.
#ifndef PIPEFORMER_LIB_SEARCH_FORCED_H_
#define PIPEFORMER_LIB_SEARCH_FORCED_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/ragged.h"
#include "lib/nn/transformer.h"
#include "lib/tensor/arena.h"

namespace pipeformer {

// A pair as piece ids, without begin and end symbols.
struct ForcedPair {
  std::span<const int32_t> source;
  std::span<const int32_t> target;
};

// One matrix of attention weights; rows are queries.
struct AttentionMatrix {
  AttentionKind kind;
  int layer;
  int head;
  int64_t queries, keys;
  std::vector<float> weights;  // [queries, keys]
};

// A piece that the model might have expected.
struct ExpectedPiece {
  int32_t id;
  float log_prob;
};

struct ForcedResult {
  std::vector<float> token_log_probs;      // [target + 1], end symbol last
  double log_prob = 0;                     // their sum, in order
  std::vector<AttentionMatrix> attention;  // by kind, layer, head
  // At each of those positions the most probable pieces, best first.
  std::vector<std::vector<ExpectedPiece>> expected;
  std::vector<float> probabilities;  // [target + 1, vocabulary]
};

enum class WantAttention { kNo, kYes };
enum class WantProbabilities { kNo, kYes };

// What a forced pass is to give beside log-probabilities.
struct ForcedWishes {
  WantAttention attention = WantAttention::kNo;
  int64_t num_expected = 0;  // pieces at each position
  WantProbabilities probabilities = WantProbabilities::kNo;
};

// Runs batches of pairs; used by one thread.
class ForcedDecoder {
 public:
  // Requires: `model` is packed and outlives the decoder.
  ForcedDecoder(const Transformer& model, Boundary boundary)
      : model_(model), boundary_(boundary) {}

  // One result a pair. The rows of encoder attention are the source pieces
  // and the end symbol; of decoder and cross attention, the positions that
  // predict the target pieces and the end symbol (the first is the begin
  // symbol's); of a language model, all rows of its sequence (PairBatch). A
  // pair's result does not depend on the others.
  std::vector<ForcedResult> Run(std::span<const ForcedPair> pairs,
                                const ForcedWishes& wishes);

 private:
  const Transformer& model_;
  Boundary boundary_;
  Arena arena_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_FORCED_H_
