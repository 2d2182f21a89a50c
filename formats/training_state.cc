#include "formats/training_state.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "formats/model_config.h"
#include "formats/sha256.h"
#include "formats/tensor_file.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNoValue = -std::numeric_limits<double>::infinity();
constexpr char kFormat[] = "pipeformer-training-state";
constexpr char kVersion[] = "2";

// Calls visit(key, field) for every field of a position, so that each is
// named once for reading and writing.
template <class Position, class Visit>
void ForEachField(Position& p, Visit visit) {
  visit("epoch", p.epoch);
  visit("batch", p.batch);
  visit("seconds", p.seconds);
  visit("validations", p.validations);
  visit("best", p.best);
  visit("stalled", p.stalled);
  visit("validated", p.validated);
  visit("stopped_early", p.stopped_early);
  visit("checkpoints", p.checkpoints);
}

Json ParseMetadata(const TensorFile& file, const std::string& key) {
  Json json = Json::parse(file.Metadata(key), nullptr, false);
  if (!json.is_object()) {
    ThrowBadData(file.source_name() + ": metadata '" + key +
                 "' is no JSON object; remove the file or use --restart");
  }
  return json;
}

// A value of an identity in a message: `0.1`, `noam`, or of files
// `a.tsv b.tsv (SHA-256 0123456789ab...)`.
std::string Shown(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump();
  constexpr size_t kDigits = 12;  // tell hashes apart well enough
  const std::string hash = value.value("sha256", "");
  if (hash.empty()) return "none";
  std::string text;
  for (const Json& file : value.value("files", Json::array())) {
    text += (file.is_string() ? file.get<std::string>() : file.dump()) + " ";
  }
  return text + "(SHA-256 " + hash.substr(0, kDigits) + "...)";
}

void CheckIdentity(const Json& stored, const Json& wanted,
                   const std::string& path) {
  for (const auto& [key, value] : wanted.items()) {
    const Json earlier = stored.contains(key) ? stored[key] : Json();
    if (earlier == value) continue;
    if (earlier.is_object() && value.is_object() &&
        earlier.value("sha256", "") == value.value("sha256", "")) {
      continue;
    }
    if (key == "network" && earlier.is_string()) {
      ThrowBadData(path + ": the training was begun with " +
                   ConfigDifference(ConfigFromJson(earlier, path),
                                    ConfigFromJson(value, path)) +
                   "; use the same, or --restart to begin anew");
    }
    ThrowBadData(path + ": the training was begun with " + key + " " +
                 Shown(earlier) + ", now it is " + Shown(value) +
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

// The fields of a position as JSON and back. JSON knows no infinity: null is
// minus infinity, the value of what has none. TakeField is false where `json`
// is nothing that a training can stand at.
Json FieldOf(const auto& field) { return field; }
Json FieldOf(double value) { return value == kNoValue ? Json() : Json(value); }

bool TakeField(const Json& json, bool& field) {
  if (!json.is_boolean()) return false;
  field = json.get<bool>();
  return true;
}

bool TakeField(const Json& json, int64_t& field) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (!json.is_number_integer() || json < 0 || json > kMost) return false;
  field = json.get<int64_t>();
  return true;
}

bool TakeField(const Json& json, double& field) {
  if (!json.is_number() && !json.is_null()) return false;
  field = json.is_null() ? kNoValue : json.get<double>();
  return true;
}

Json FieldOf(const Checkpoint& c) {
  return {{"step", c.step}, {"value", FieldOf(c.value)}};
}

bool TakeField(const Json& json, Checkpoint& c) {
  return json.is_object() && json.contains("step") && json.contains("value") &&
         TakeField(json["step"], c.step) && TakeField(json["value"], c.value);
}

template <class Element>
Json FieldOf(const std::vector<Element>& list) {
  Json json = Json::array();
  for (const Element& element : list) json.push_back(FieldOf(element));
  return json;
}

template <class Element>
bool TakeField(const Json& json, std::vector<Element>& list) {
  list.assign(json.size(), {});
  for (size_t i = 0; i < list.size(); ++i) {
    if (!json.is_array() || !TakeField(json[i], list[i])) return false;
  }
  return json.is_array();
}

// One field of a position. Throws where it is missing or no good one.
void ReadField(const Json& where, const char* key, auto& field,
               const std::string& path) {
  if (where.contains(key) && TakeField(where[key], field)) return;
  ThrowBadData(path + ": its position has " + key + " " +
               (where.contains(key) ? where[key] : Json()).dump() +
               ": the file is damaged; remove it or use --restart");
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

TrainingIdentity IdentityOfFiles(const std::vector<std::string>& files,
                                 const std::string& sha256) {
  return {{"files", files}, {"sha256", sha256}};
}

void WriteTrainingState(const ParameterTable& parameters,
                        const OptimizerState& optimizer,
                        const TrainingPosition& position,
                        const TrainingIdentity& identity,
                        const std::string& path) {
  Json where = {{"step", optimizer.step}};
  ForEachField(position, [&](const char* key, const auto& field) {
    where[key] = FieldOf(field);
  });
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
