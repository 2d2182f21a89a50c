// Which attention `inspect-attention` shows: the selection of kinds, layers
// and heads, averages, and the largest weights of each row.
#ifndef PIPEFORMER_TOOLS_ATTENTION_VIEW_H_
#define PIPEFORMER_TOOLS_ATTENTION_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/search/forced.h"

namespace pipeformer {

struct AttentionSelection {
  std::vector<std::string> kinds = {};  // encoder, decoder, cross; empty: all
  std::vector<int64_t> layers = {};     // negative ones count from the top
  std::vector<int64_t> heads = {};      // empty: all, as for layers
  std::string average = {};             // heads, layers or both; empty: none
  int64_t top_k = 0;                    // weights kept in each row, 0: all

  bool operator==(const AttentionSelection&) const = default;
};

// One matrix as shown; an average has layer or head -1.
struct ShownAttention {
  AttentionKind kind;
  int64_t layer, head;
  int64_t queries, keys;
  std::vector<float> weights;  // [queries, keys]
};

const char* KindName(AttentionKind kind);

// Throws Error (64) when a selection names what a network of this size does
// not have.
void CheckSelection(const AttentionSelection& selection, int64_t num_layers,
                    int64_t num_heads);

// The selected matrices in the order kind, layer, head. An average over heads
// or layers takes those selected.
//   encoder_layers, decoder_layers  for layers that count from the top
std::vector<ShownAttention> Select(const std::vector<AttentionMatrix>& all,
                                   const AttentionSelection& selection,
                                   int64_t encoder_layers,
                                   int64_t decoder_layers);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_ATTENTION_VIEW_H_
