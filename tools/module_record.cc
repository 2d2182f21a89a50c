#include "tools/module_record.h"

#include <utility>

#include "formats/json_tensor.h"
#include "lib/base/error.h"
#include "tools/module_signature.h"

namespace pipeformer {
namespace {

// Text as it stands, everything else as JSON.
std::string MetadataText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Frame(const Json& rest, TensorCollection collection) {
  for (const auto& [key, value] : rest.items()) {
    collection.metadata.emplace(key, MetadataText(value));
  }
  return RecordFrame(rest.at("id"), std::move(collection));
}

}  // namespace

void ReadLine(const std::string& line, const std::string& place, uint64_t index,
              ModuleRecord& record) {
  record.rest["id"] = index;
  record.rest = WithId(ParseRecord(line, place), index);
  RefuseErrorRecord(record.rest, place);
  const Json whole = std::exchange(record.rest, Json::object());
  for (const auto& [key, value] : whole.items()) {
    if (!IsModuleTensor(key)) record.rest[key] = value;
  }
  for (const auto& [key, value] : whole.items()) {
    if (!IsModuleTensor(key)) continue;
    record.owned.push_back(TensorFromJson(value, key));
    record.tensors.Add(key, record.owned.back().View());
  }
}

void ReadFrame(const TensorFrame& frame, const std::string& place,
               ModuleRecord& record) {
  record.rest["id"] = frame.id;
  record.tensors = frame.tensors.collection();
  for (const auto& [key, value] : record.tensors.metadata) {
    if (key == "error") {
      ThrowBadData(place + ": an error record came in: " + value);
    }
    record.rest[key] = value;
  }
}

std::string FormatResults(const ModuleRecord& record,
                          const std::vector<NamedResult>& results,
                          ModuleOutput format) {
  Json rest = record.rest;
  for (const NamedResult& result : results) rest.erase(result.name);
  if (format == ModuleOutput::kTensors) {
    TensorCollection collection;
    for (const auto& [name, tensor] : results) {
      collection.Add(name, tensor.View());
    }
    return Frame(rest, std::move(collection));
  }
  std::string line = DumpRecord(rest);
  line.resize(line.size() - 2);  // without the closing brace and LF
  for (const auto& [name, tensor] : results) {
    line += "," + Json(name).dump() + ":";
    AppendTensorJson(tensor.View(), line);
  }
  return line + "}\n";
}

std::string FormatBlank(uint64_t index, ModuleOutput format) {
  if (format == ModuleOutput::kJson) return "\n";
  return RecordFrame(index, {});
}

std::string FormatProblem(const ModuleRecord& record,
                          const std::string& problem, int64_t line,
                          ModuleOutput format) {
  if (format == ModuleOutput::kJson) {
    return BadRecordLine(record.rest, problem, line);
  }
  TensorCollection collection;
  collection.metadata["error"] = problem;
  return Frame(record.rest, std::move(collection));
}

}  // namespace pipeformer
