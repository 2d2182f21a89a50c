#include "tests/nn/test_network.h"

#include <utility>

namespace pipeformer {
namespace {

std::span<const int32_t> SentenceOf(const RaggedIds& batch, size_t s) {
  const auto begin = static_cast<size_t>(batch.offsets[s]);
  const auto end = static_cast<size_t>(batch.offsets[s + 1]);
  return std::span(batch.ids).subspan(begin, end - begin);
}

}  // namespace

TransformerConfig SmallConfig() {
  return {.d_model = 36,
          .num_heads = 3,
          .ffn_dim = 40,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .relative_clip = 5,
          .source_vocab = 77,
          .target_vocab = 77,
          .max_positions = 64,
          .dropout = 0};
}

std::string NameOf(const testing::TestParamInfo<NamedConfig>& info) {
  return info.param.name;
}

std::vector<NamedConfig> EveryArchitecture() {
  TransformerConfig language_model = SmallConfig();
  language_model.type = ModelType::kLanguageModel;
  language_model.encoder_layers = 0;
  TransformerConfig sentences = language_model;
  sentences.trained_on = TrainedOn::kSentences;
  return {{"EncoderDecoder", SmallConfig()},
          {"PairsModel", language_model},
          {"SentencesModel", sentences}};
}

std::vector<NamedConfig> EveryNetwork() {
  constexpr std::pair<const char*, PositionKind> kPositions[] = {
      {"Sinusoidal", PositionKind::kSinusoidal},
      {"Learned", PositionKind::kLearned},
      {"Relative", PositionKind::kRelative},
      {"Rotary", PositionKind::kRotary},
      {"Alibi", PositionKind::kAlibi}};
  std::vector<NamedConfig> all;
  for (const NamedConfig& architecture : EveryArchitecture()) {
    const TransformerConfig& config = architecture.config;
    const auto add = [&](const std::string& name) -> TransformerConfig& {
      return all.emplace_back(NamedConfig{architecture.name + name, config})
          .config;
    };
    for (const auto& [name, position] : kPositions) {
      add(name).position = position;
    }
    add("Window").attention_window = 3;
    add("Unscaled").attention_scale = AttentionScale::kNone;
    TransformerConfig& pre_norm = add("PreNormUntied");
    pre_norm.norm = NormPlace::kPre;
    pre_norm.tied_embeddings = false;
    pre_norm.activation = Activation::kGelu;
    if (!config.is_language_model()) pre_norm.target_vocab = 93;
  }
  return all;
}

std::vector<NamedConfig> InEveryPrecision(std::vector<NamedConfig> networks) {
  const size_t count = networks.size();
  for (size_t i = 0; i < count; ++i) {
    NamedConfig int8 = networks[i];
    int8.name += "Int8";
    int8.precision = Precision::kInt8;
    networks.push_back(int8);
  }
  return networks;
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

PairBatch PairsOf(const TransformerConfig& config, const RaggedIds& sources,
                  const RaggedIds& targets, Predict predict) {
  PairBatch batch(config, Boundary{}, predict);
  for (size_t s = 0; s + 1 < sources.offsets.size(); ++s) {
    batch.Append(SentenceOf(sources, s), SentenceOf(targets, s));
  }
  return batch;
}

RaggedIds Select(const RaggedIds& batch, std::span<const size_t> which) {
  RaggedIds selected;
  for (const size_t s : which) selected.Append(-1, SentenceOf(batch, s), -1);
  return selected;
}

}  // namespace pipeformer
