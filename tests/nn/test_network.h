// Small networks and batches for tests: random, but the same in every run.
#ifndef PIPEFORMER_TESTS_NN_TEST_NETWORK_H_
#define PIPEFORMER_TESTS_NN_TEST_NETWORK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/ragged.h"
#include "lib/nn/transformer.h"

namespace pipeformer {

// Two layers a stack, sizes that fill no vector: 3 heads of 12, ffn 40,
// vocabulary 77; no dropout.
TransformerConfig SmallConfig();

// The network of `config` with random values in every parameter, biases and
// gains too, so that none can be forgotten unnoticed.
std::unique_ptr<Transformer> RandomNetwork(const TransformerConfig& config,
                                           uint64_t seed);

// Random pieces in [0, vocab), one sentence for each length.
RaggedIds RandomBatch(std::span<const int64_t> lengths, int64_t vocab,
                      Random random);

// The sentences of `batch` that `which` names, in that order.
RaggedIds Select(const RaggedIds& batch, std::span<const size_t> which);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_NN_TEST_NETWORK_H_
