// Small networks and batches for tests: random, but the same in every run.
#ifndef PIPEFORMER_TESTS_NN_TEST_NETWORK_H_
#define PIPEFORMER_TESTS_NN_TEST_NETWORK_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/pair_batch.h"
#include "lib/nn/ragged.h"
#include "lib/nn/transformer.h"

namespace pipeformer {

// Two layers a stack, sizes that fill no vector: 3 heads of 12, ffn 40,
// vocabulary 77; no dropout.
TransformerConfig SmallConfig();

// A configuration that parameterises a test, and the test's name.
struct NamedConfig {
  std::string name;
  TransformerConfig config;
  Precision precision = Precision::kFloat32;

  friend std::ostream& operator<<(std::ostream& out, const NamedConfig& c) {
    return out << c.name;
  }
};
std::string NameOf(const testing::TestParamInfo<NamedConfig>& info);

// SmallConfig in the three architectures: an encoder-decoder, a language model
// of pairs and one of sentences.
std::vector<NamedConfig> EveryArchitecture();

// Each of them with every kind of positions; and with a window, with unscaled
// scores, with the norms before the layers and separate embeddings.
std::vector<NamedConfig> EveryNetwork();

// `networks`, and the same in eight bits.
std::vector<NamedConfig> InEveryPrecision(std::vector<NamedConfig> networks);

// The network of `config` with random values in every parameter, biases and
// gains too, so that none can be forgotten unnoticed.
std::unique_ptr<Transformer> RandomNetwork(const TransformerConfig& config,
                                           uint64_t seed);

// Random pieces in [0, vocab), one sentence for each length.
RaggedIds RandomBatch(std::span<const int64_t> lengths, int64_t vocab,
                      Random random);

// The sentences of two batches as pairs. Their special pieces are ids 1 and 2.
PairBatch PairsOf(const TransformerConfig& config, const RaggedIds& sources,
                  const RaggedIds& targets, Predict predict = Predict::kTarget);

// The sentences of `batch` that `which` names, in that order.
RaggedIds Select(const RaggedIds& batch, std::span<const size_t> which);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_NN_TEST_NETWORK_H_
