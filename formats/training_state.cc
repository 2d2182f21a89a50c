#include "formats/training_state.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "formats/model_config.h"
#include "formats/sha256.h"
#include "formats/tensor_file.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "pipeformer-training-state";
constexpr char kVersion[] = "1";

// Calls visit(key, field) for every field of a position, so that each is
// named once for reading and writing.
template <class Position, class Visit>
void ForEachField(Position& p, Visit visit) {
  visit("epoch", p.epoch);
  visit("batch", p.batch);
  visit("seconds", p.seconds);
  visit("validations", p.validations);
  visit("best", p.best);
  visit("has_best", p.has_best);
  visit("stalled", p.stalled);
  visit("validated", p.validated);
  visit("stopped_early", p.stopped_early);
}

Json ParseMetadata(const TensorFile& file, const std::string& key) {
  Json json = Json::parse(file.Metadata(key), nullptr, false);
  if (!json.is_object()) {
    ThrowBadData(file.source_name() + ": metadata '" + key +
                 "' is no JSON object; remove the file or use --restart");
  }
  return json;
}

// What a training was begun with, as a program of today would say it: keys
// that came later have the value that was the only one before.
Json Modernised(Json stored, const std::string& path) {
  if (!stored.contains("--lm-loss")) stored["--lm-loss"] = "target";
  if (!stored.contains("processes")) stored["processes"] = 1;
  const Json no_sampling = {0.0, 0.0};
  if (!stored.contains("--sentencepiece-alphas")) {
    stored["--sentencepiece-alphas"] = no_sampling;
  }
  if (stored.contains("network") && stored["network"].is_string()) {
    stored["network"] = ConfigToJson(
        ConfigFromJson(stored["network"].get<std::string>(), path));
  }
  return stored;
}

void CheckIdentity(const Json& begun, const Json& wanted,
                   const std::string& path) {
  const Json stored = Modernised(begun, path);
  for (const auto& [key, value] : wanted.items()) {
    const Json earlier = stored.contains(key) ? stored[key] : Json();
    if (earlier == value) continue;
    if (key == "network" && earlier.is_string()) {
      ThrowBadData(path + ": the training was begun with " +
                   ConfigDifference(ConfigFromJson(earlier, path),
                                    ConfigFromJson(value, path)) +
                   "; use the same, or --restart to begin anew");
    }
    ThrowBadData(path + ": the training was begun with " + key + " " +
                 earlier.dump() + ", now it is " + value.dump() +
                 "; use the same, or --restart to begin anew");
  }
}

void CopyInto(const TensorFile& file, const std::string& name,
              std::span<float> target) {
  const auto values =
      file.At(name, DType::kF32, {static_cast<int64_t>(target.size())})
          .Elements<float>();
  std::copy(values.begin(), values.end(), target.begin());
}

// One number of a position. Throws where it is missing or none that a training
// can stand at.
template <class Field>
void ReadField(const Json& where, const char* key, Field& field,
               const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 53;
  const Json value = where.contains(key) ? where[key] : Json();
  bool good = false;
  if constexpr (std::is_same_v<Field, bool>) {
    good = value.is_boolean();
  } else if constexpr (std::is_integral_v<Field>) {
    good = value.is_number_integer() && value >= 0 && value <= kMost;
  } else {
    good = value.is_number();
  }
  if (!good) {
    ThrowBadData(path + ": its position has " + key + " " + value.dump() +
                 ": the file is damaged; remove it or use --restart");
  }
  field = value.get<Field>();
}

// Of the bytes of all tensors and of the position.
std::string HashOf(const TensorCollection& collection) {
  Sha256 hash;
  for (const NamedTensor& t : collection.tensors) hash.Update(t.tensor.bytes);
  const auto position = collection.metadata.find("position");
  if (position != collection.metadata.end()) {
    hash.Update(std::as_bytes(std::span(position->second)));
  }
  return hash.HexDigest();
}

}  // namespace

void WriteTrainingState(const ParameterTable& parameters,
                        const OptimizerState& optimizer,
                        const TrainingPosition& position,
                        const TrainingIdentity& identity,
                        const std::string& path) {
  Json where = {{"step", optimizer.step}};
  ForEachField(position,
               [&](const char* key, const auto& field) { where[key] = field; });
  TensorCollection collection;
  collection.metadata = {{"format", kFormat},
                         {"version", kVersion},
                         {"position", where.dump()},
                         {"identity", identity.dump()}};
  const auto add = [&](const char* name, std::span<const float> values) {
    collection.Add(name, ViewOf(values, {static_cast<int64_t>(values.size())}));
  };
  add("values", {parameters.values(), static_cast<size_t>(parameters.size())});
  add("first_moment", optimizer.first_moment);
  add("second_moment", optimizer.second_moment);
  if (!optimizer.averages.empty()) add("averages", optimizer.averages);
  collection.metadata["sha256"] = HashOf(collection);
  WriteTensorFile(collection, path);
}

void ReadTrainingState(const std::string& path,
                       const TrainingIdentity& identity,
                       ParameterTable& parameters, OptimizerState& optimizer,
                       TrainingPosition& position) {
  const TensorFile file = TensorFile::Open(path);
  file.RequireFormat(kFormat, kVersion, "remove it or use --restart");
  CheckIdentity(ParseMetadata(file, "identity"), identity, path);
  const Json where = ParseMetadata(file, "position");
  ReadField(where, "step", optimizer.step, path);
  ForEachField(position, [&](const char* key, auto& field) {
    ReadField(where, key, field, path);
  });
  if (HashOf(file.collection()) != file.Metadata("sha256")) {
    ThrowBadData(path +
                 ": does not have its recorded SHA-256: the file is damaged; "
                 "remove it or use --restart");
  }
  CopyInto(file, "values",
           {parameters.values(), static_cast<size_t>(parameters.size())});
  CopyInto(file, "first_moment", optimizer.first_moment);
  CopyInto(file, "second_moment", optimizer.second_moment);
  if (!optimizer.averages.empty()) {
    CopyInto(file, "averages", optimizer.averages);
  }
}

}  // namespace pipeformer
