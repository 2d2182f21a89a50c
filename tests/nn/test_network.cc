#include "tests/nn/test_network.h"

namespace pipeformer {

TransformerConfig SmallConfig() {
  return {.d_model = 36,
          .num_heads = 3,
          .ffn_dim = 40,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .source_vocab = 77,
          .target_vocab = 77,
          .max_positions = 64,
          .dropout = 0};
}

std::unique_ptr<Transformer> RandomNetwork(const TransformerConfig& config,
                                           uint64_t seed) {
  auto network = std::make_unique<Transformer>(config);
  network->parameters().Allocate();
  network->parameters().Initialize(seed);
  Random random = Random(seed).Fork(1);
  network->parameters().ForEachParameter([&](Parameter& p) {
    if (p.rank != 1) return;
    for (int64_t i = 0; i < p.size(); ++i) {
      p.value.data[i] += static_cast<float>(random.Uniform() - 0.5) / 2;
    }
  });
  return network;
}

RaggedIds RandomBatch(std::span<const int64_t> lengths, int64_t vocab,
                      Random random) {
  RaggedIds batch;
  for (const int64_t length : lengths) {
    std::vector<int32_t> pieces;
    for (int64_t i = 0; i < length; ++i) {
      pieces.push_back(
          static_cast<int32_t>(random.Below(static_cast<uint64_t>(vocab))));
    }
    batch.Append(-1, pieces, -1);
  }
  return batch;
}

RaggedIds Select(const RaggedIds& batch, std::span<const size_t> which) {
  RaggedIds selected;
  for (const size_t s : which) {
    const auto begin = static_cast<size_t>(batch.offsets[s]);
    const auto end = static_cast<size_t>(batch.offsets[s + 1]);
    selected.Append(-1, std::span(batch.ids).subspan(begin, end - begin), -1);
  }
  return selected;
}

}  // namespace pipeformer
