// Networks that choose the next piece together:
//   log p(piece) = sum over networks of weight * their own log p(piece)
// not made to add up to one again, which would change no order. One network of
// weight 1 is itself, to the last bit.
#ifndef PIPEFORMER_LIB_SEARCH_ENSEMBLE_H_
#define PIPEFORMER_LIB_SEARCH_ENSEMBLE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/nn/transformer.h"

namespace pipeformer {

struct Ensemble {
  // Not explicit: a network alone is one.
  Ensemble(const Transformer& network) : networks{&network}, weights{1} {}
  Ensemble(std::vector<const Transformer*> all, std::vector<float> their)
      : networks(std::move(all)), weights(std::move(their)) {}

  // What all of them have in common: the type, and what pieces there are.
  const TransformerConfig& config() const { return networks[0]->config(); }

  // Positions that each of them has.
  int64_t max_positions() const {
    int64_t most = config().max_positions;
    for (const Transformer* n : networks) {
      most = std::min<int64_t>(most, n->config().max_positions);
    }
    return most;
  }

  // Source pieces that one worker should search together. Weights that stay in
  // a processor's cache want few, so that keys and values stay there too;
  // weights that every step fetches from memory want many rows to share them.
  int64_t SuitableMiniBatchWords() const {
    constexpr int64_t kCachedWeights = 4'000'000;
    int64_t weights = 0;
    for (const Transformer* n : networks) weights += n->parameters().size();
    return weights <= kCachedWeights ? 256 : 1024;
  }

  std::vector<const Transformer*> networks;  // at least one
  std::vector<float> weights;                // of each
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_ENSEMBLE_H_
