#include "formats/model_config.h"

#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

using Json = nlohmann::ordered_json;

// Reads or writes one key after another, so that each is named once. What a
// model may lack (Later), because it is older than the key, keeps its default.
class Writer {
 public:
  template <class... Arguments>
  void Later(Arguments&&... arguments) {
    Field(arguments...);
  }
  template <class T>
  void Field(const char* key, const T& value) {
    json[key] = value;
  }
  template <class Enum>
  void Field(const char* key, const Enum& value, EnumNames<Enum> names) {
    for (const auto& [name, candidate] : names) {
      if (candidate == value) json[key] = name;
    }
  }

  Json json = Json::object();
};

class Reader {
 public:
  Reader(const Json& json, const std::string& source_name)
      : json_(json), source_name_(source_name) {}

  template <class... Arguments>
  void Later(const char* key, Arguments&&... arguments) {
    if (json_.contains(key)) Field(key, arguments...);
  }
  template <class T>
  void Field(const char* key, T& value) {
    try {
      if constexpr (std::is_same_v<T, int64_t>) {
        if (!Find(key).is_number_integer())
          Fail(key, "has the wrong type: " + Find(key).dump());
      }
      value = Find(key).get<T>();
    } catch (const Json::exception&) {
      Fail(key, "has the wrong type: " + Find(key).dump());
    }
  }
  template <class Enum>
  void Field(const char* key, Enum& value, EnumNames<Enum> names) {
    std::string text;
    Field(key, text);
    std::string known;
    for (const auto& [name, candidate] : names) {
      if (text == name) {
        value = candidate;
        return;
      }
      known += std::string(known.empty() ? "" : ", ") + name;
    }
    Fail(key, "is '" + text + "', known are " + known);
  }

  void CheckNoOtherKeys() const {
    for (const auto& [key, value] : json_.items()) {
      if (!seen_.contains(key)) {
        Fail(key, "is unknown: the model was made by a newer version");
      }
    }
  }

 private:
  const Json& Find(const char* key) {
    seen_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) Fail(key, "is missing");
    return *found;
  }
  [[noreturn]] void Fail(const std::string& key,
                         const std::string& problem) const {
    ThrowBadData(source_name_ + ": configuration key '" + key + "' " + problem);
  }

  const Json& json_;
  const std::string& source_name_;
  std::set<std::string> seen_;
};

template <class Archive, class Config>
void VisitConfig(Archive& archive, Config& c) {
  archive.Later("type", c.type, kModelTypeNames);
  archive.Later("trained_on", c.trained_on, kTrainedOnNames);
  archive.Field("d_model", c.d_model);
  archive.Field("num_heads", c.num_heads);
  archive.Field("ffn_dim", c.ffn_dim);
  archive.Field("encoder_layers", c.encoder_layers);
  archive.Field("decoder_layers", c.decoder_layers);
  archive.Field("activation", c.activation, kActivationNames);
  archive.Field("norm", c.norm, kNormNames);
  archive.Field("final_norm", c.final_norm, kFinalNormNames);
  archive.Later("position", c.position, kPositionNames);
  archive.Later("relative_clip", c.relative_clip);
  archive.Later("attention_scale", c.attention_scale, kScaleNames);
  archive.Later("attention_window", c.attention_window);
  archive.Later("decoder_mask", c.decoder_mask, kMaskNames);
  archive.Field("source_vocab", c.source_vocab);
  archive.Field("target_vocab", c.target_vocab);
  archive.Field("tied_embeddings", c.tied_embeddings);
  archive.Field("max_positions", c.max_positions);
  archive.Field("dropout", c.dropout);
  archive.Field("attention_dropout", c.attention_dropout);
  archive.Field("ffn_dropout", c.ffn_dropout);
}

}  // namespace

std::string ConfigToJson(const TransformerConfig& config) {
  Writer writer;
  VisitConfig(writer, config);
  return writer.json.dump();
}

std::string ConfigDifference(const TransformerConfig& before,
                             const TransformerConfig& now) {
  Writer first, second;
  VisitConfig(first, before);
  VisitConfig(second, now);
  for (const auto& [key, value] : first.json.items()) {
    if (value == second.json[key]) continue;
    return key + " " + value.dump() + ", now " + second.json[key].dump();
  }
  return "";
}

TransformerConfig ConfigFromJson(const std::string& json,
                                 const std::string& source_name) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (!parsed.is_object()) {
    ThrowBadData(source_name + ": the configuration is no JSON object");
  }
  Reader reader(parsed, source_name);
  TransformerConfig config;
  VisitConfig(reader, config);
  reader.CheckNoOtherKeys();
  CheckConfig(config, source_name);
  return config;
}

namespace {

// A number and the range it must lie in.
struct Bound {
  const char* name;
  int64_t value, least, most;
};

void CheckBounds(const TransformerConfig& c, const std::string& source_name) {
  constexpr int64_t kMost = int64_t{1} << 24;  // keeps every product in range
  constexpr int64_t kMostLayers = 1000;
  const int64_t encoder = c.is_language_model() ? 0 : 1;
  const Bound bounds[] = {
      {"d_model", c.d_model, 1, kMost},
      {"num_heads", c.num_heads, 1, kMost},
      {"ffn_dim", c.ffn_dim, 1, kMost},
      {"encoder_layers", c.encoder_layers, encoder, encoder * kMostLayers},
      {"decoder_layers", c.decoder_layers, 1, kMostLayers},
      {"source_vocab", c.source_vocab, 1, kMost},
      {"target_vocab", c.target_vocab, 1, kMost},
      {"max_positions", c.max_positions, 1, kMost},
      {"relative_clip", c.relative_clip, 1, kMost},
      {"attention_window", c.attention_window, 0, kMost}};
  for (const Bound& b : bounds) {
    if (b.value >= b.least && b.value <= b.most) continue;
    ThrowBadData(source_name + ": " + b.name + " is " +
                 std::to_string(b.value) + ", it must lie in [" +
                 std::to_string(b.least) + ", " + std::to_string(b.most) + "]");
  }
  if (c.max_positions * c.d_model > (int64_t{1} << 31)) {
    ThrowBadData(source_name +
                 ": no network is that large: max_positions times d_model may "
                 "be 2^31 at most");
  }
}

}  // namespace

void CheckConfig(const TransformerConfig& c, const std::string& source_name) {
  CheckBounds(c, source_name);
  if (c.d_model % c.num_heads != 0) {
    ThrowBadData(source_name + ": d_model is " + std::to_string(c.d_model) +
                 ", which " + std::to_string(c.num_heads) +
                 " heads do not divide; choose a multiple of num_heads");
  }
  if (c.position == PositionKind::kRotary && c.head_dim() % 2 != 0) {
    ThrowBadData(
        source_name + ": rotary positions turn pairs, but a head has " +
        std::to_string(c.head_dim()) +
        " dimensions; choose d_model and num_heads so that it is even");
  }
  if (c.trained_on == TrainedOn::kSentences && !c.is_language_model()) {
    ThrowBadData(source_name +
                 ": only a language model learns from sentences; an "
                 "encoder-decoder needs pairs");
  }
  if ((c.tied_embeddings || c.is_language_model()) &&
      c.source_vocab != c.target_vocab) {
    ThrowBadData(source_name +
                 ": tied embeddings and language models need one vocabulary, "
                 "but "
                 "the sizes are " +
                 std::to_string(c.source_vocab) + " and " +
                 std::to_string(c.target_vocab));
  }
  const std::pair<const char*, float> probabilities[] = {
      {"dropout", c.dropout},
      {"attention_dropout", c.attention_dropout},
      {"ffn_dropout", c.ffn_dropout}};
  for (const auto& [name, value] : probabilities) {
    if (!(value >= 0 && value < 1)) {
      ThrowBadData(source_name + ": " + name + " is " + std::to_string(value) +
                   ", it must lie in [0, 1)");
    }
  }
}

}  // namespace pipeformer
