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

struct ForcedResult {
  std::vector<float> token_log_probs;      // [target + 1], end symbol last
  double log_prob = 0;                     // their sum, in order
  std::vector<AttentionMatrix> attention;  // by kind, layer, head
};

enum class WantAttention { kNo, kYes };

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
                                WantAttention want);

 private:
  const Transformer& model_;
  Boundary boundary_;
  Arena arena_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_FORCED_H_
