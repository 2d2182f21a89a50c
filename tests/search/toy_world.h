// A network whose next piece does not depend on anything: every probability
// of a search over it can be computed by hand.
#ifndef PIPEFORMER_TESTS_SEARCH_TOY_WORLD_H_
#define PIPEFORMER_TESTS_SEARCH_TOY_WORLD_H_

#include <cmath>
#include <memory>

#include "lib/nn/transformer.h"

namespace pipeformer {

// Pieces of the toy world; 0 is unknown, 1 begins and 2 ends a sentence.
inline constexpr int32_t kEnd = 2, kA = 3, kB = 4;

struct ToyProbabilities {
  double end, a, b;
};

// All weights are zero but the bias of the output layer; unknown and begin
// symbols have no probability.
inline std::unique_ptr<Transformer> ToyWorld(const ToyProbabilities& p) {
  auto network =
      std::make_unique<Transformer>(TransformerConfig{.d_model = 4,
                                                      .num_heads = 1,
                                                      .ffn_dim = 4,
                                                      .encoder_layers = 1,
                                                      .decoder_layers = 1,
                                                      .source_vocab = 5,
                                                      .target_vocab = 5,
                                                      .max_positions = 64});
  network->parameters().Allocate();
  const double probabilities[] = {0, 0, p.end, p.a, p.b};
  network->parameters().ForEachParameter([&](Parameter& parameter) {
    if (parameter.name != "output.bias") return;
    for (int i = 0; i < 5; ++i) {
      parameter.value.data[i] = static_cast<float>(std::log(probabilities[i]));
    }
  });
  network->Pack();
  return network;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SEARCH_TOY_WORLD_H_
