#include "formats/safetensors.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "formats/little_endian.h"
#include "formats/safetensors_header.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr size_t kDataAlignment = 64;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The header's text, after the checks that need no JSON.
std::string_view HeaderText(std::span<const std::byte> bytes,
                            std::string_view source_name) {
  const std::string name(source_name);
  if (bytes.size() < kLengthBytes) {
    ThrowBadData(name + ": " + std::to_string(bytes.size()) +
                 " bytes are too few for a safetensors file, which begins with "
                 "an 8-byte header length");
  }
  const uint64_t length = LoadLittleEndian<uint64_t>(AsText(bytes));
  if (AsText(bytes).starts_with("version https://git-lfs")) {
    ThrowBadData(name +
                 ": this is a Git LFS pointer, not the tensors; fetch the file "
                 "itself with 'git lfs pull'");
  }
  if (length > kMaxSafetensorsHeaderBytes) {
    ThrowBadData(name + ": header of " + std::to_string(length) +
                 " bytes, the limit is " +
                 std::to_string(kMaxSafetensorsHeaderBytes) +
                 "; this is no safetensors file");
  }
  if (length > bytes.size() - kLengthBytes) {
    ThrowBadData(name + ": header of " + std::to_string(length) +
                 " bytes, but only " +
                 std::to_string(bytes.size() - kLengthBytes) +
                 " follow; the file is truncated or no safetensors file");
  }
  const std::string_view text = AsText(bytes.subspan(kLengthBytes, length));
  if (!text.starts_with('{')) {
    ThrowBadData(name +
                 ": the header does not begin with '{'; this is no "
                 "safetensors file");
  }
  return text;
}

// Checks one entry that must begin at `expected_begin`.
void CheckEntry(const SafetensorsEntry& entry, uint64_t expected_begin,
                const std::string& where) {
  const std::string offsets = "data_offsets [" + std::to_string(entry.begin) +
                              ", " + std::to_string(entry.end) + "]";
  if (entry.end < entry.begin) ThrowBadData(where + offsets + " run backwards");
  const std::optional<size_t> bytes = TensorBytes(entry.dtype, entry.shape);
  const std::string type =
      std::string(DTypeName(entry.dtype)) + " " + ShapeText(entry.shape);
  if (!bytes) ThrowBadData(where + type + " has more than 2^63 bytes");
  if (*bytes != entry.end - entry.begin) {
    ThrowBadData(where + type + " needs " + std::to_string(*bytes) +
                 " bytes, but " + offsets + " hold " +
                 std::to_string(entry.end - entry.begin));
  }
  if (entry.begin != expected_begin) {
    ThrowBadData(where + offsets +
                 (entry.begin < expected_begin ? " overlap" : " leave a hole") +
                 ", expected a start at " + std::to_string(expected_begin));
  }
}

void CheckWritable(const TensorCollection& collection) {
  std::unordered_set<std::string_view> names;
  for (const auto& [name, tensor] : collection.tensors) {
    Check(names.insert(name).second, "two tensors have one name");
    Check(name != "__metadata__", "a tensor is named __metadata__");
    Check(name.find('\0') == std::string::npos, "a tensor's name has a NUL");
    Check(TensorBytes(tensor.dtype, tensor.shape) == tensor.bytes.size(),
          "a tensor's bytes disagree with its shape");
  }
}

size_t DataBytes(const TensorCollection& collection) {
  size_t bytes = 0;
  for (const NamedTensor& named : collection.tensors) {
    bytes += named.tensor.bytes.size();
  }
  return bytes;
}

}  // namespace

TensorCollection ParseSafetensors(std::span<const std::byte> bytes,
                                  std::string_view source_name) {
  const std::string_view text = HeaderText(bytes, source_name);
  const std::span<const std::byte> data =
      bytes.subspan(kLengthBytes + text.size());
  SafetensorsHeader header = ParseSafetensorsHeader(text, source_name);
  // An empty tensor sorts before one that begins at the same byte.
  std::ranges::stable_sort(header.entries, {}, [](const auto& entry) {
    return std::pair(entry.begin, entry.end);
  });
  TensorCollection collection{.tensors = {},
                              .metadata = std::move(header.metadata)};
  uint64_t covered = 0;
  for (SafetensorsEntry& entry : header.entries) {
    const std::string where =
        std::string(source_name) + ": tensor " + Quoted(entry.name) + ": ";
    CheckEntry(entry, covered, where);
    if (entry.end > data.size()) {
      ThrowBadData(where + "ends at byte " + std::to_string(entry.end) +
                   " of the data, but only " + std::to_string(data.size()) +
                   " follow the header; the file is truncated");
    }
    covered = entry.end;
    collection.Add(std::move(entry.name),
                   {entry.dtype, std::move(entry.shape),
                    data.subspan(entry.begin, entry.end - entry.begin)});
  }
  if (covered != data.size()) {
    ThrowBadData(std::string(source_name) + ": " +
                 std::to_string(data.size() - covered) +
                 " bytes after the last tensor belong to none");
  }
  return collection;
}

std::string SafetensorsPreamble(const TensorCollection& collection) {
  CheckWritable(collection);
  std::string text = "{";
  const auto append = [&text](const std::string& key,
                              const nlohmann::ordered_json& value) {
    if (text.size() > 1) text += ',';
    text += nlohmann::json(key).dump() + ":" + value.dump();
  };
  if (!collection.metadata.empty()) {
    append("__metadata__", collection.metadata);
  }
  size_t begin = 0;
  for (const auto& [name, tensor] : collection.tensors) {
    const size_t end = begin + tensor.bytes.size();
    append(name, {{"dtype", DTypeName(tensor.dtype)},
                  {"shape", tensor.shape},
                  {"data_offsets", {begin, end}}});
    begin = end;
  }
  text += '}';
  const size_t used = (kLengthBytes + text.size()) % kDataAlignment;
  if (used != 0) text.append(kDataAlignment - used, ' ');
  if (text.size() > kMaxSafetensorsHeaderBytes) {
    ThrowBadData("a safetensors header of " + std::to_string(text.size()) +
                 " bytes passes the format's limit of " +
                 std::to_string(kMaxSafetensorsHeaderBytes));
  }
  std::string length;
  AppendLittleEndian<uint64_t>(text.size(), length);
  return length + text;
}

void WriteSafetensors(const TensorCollection& collection, std::ostream& out) {
  const std::string preamble = SafetensorsPreamble(collection);
  out.write(preamble.data(), static_cast<std::streamsize>(preamble.size()));
  for (const NamedTensor& named : collection.tensors) {
    const std::string_view bytes = AsText(named.tensor.bytes);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

std::string SerializeSafetensors(const TensorCollection& collection) {
  std::string bytes = SafetensorsPreamble(collection);
  bytes.reserve(bytes.size() + DataBytes(collection));
  for (const NamedTensor& named : collection.tensors) {
    bytes += AsText(named.tensor.bytes);
  }
  return bytes;
}

size_t SafetensorsBytes(const TensorCollection& collection) {
  return SafetensorsPreamble(collection).size() + DataBytes(collection);
}

void SortForAlignment(TensorCollection& collection) {
  std::ranges::stable_sort(
      collection.tensors, std::greater(),
      [](const NamedTensor& named) { return DTypeBytes(named.tensor.dtype); });
}

}  // namespace pipeformer
