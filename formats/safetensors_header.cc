#include "formats/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr std::string_view kMetadata = "__metadata__";

// Receives the header's JSON token by token. A tree would forget which keys
// came twice and would let a hostile file choose its depth.
class HeaderHandler {
 public:
  explicit HeaderHandler(std::string_view source_name)
      : source_name_(source_name) {}

  SafetensorsHeader TakeHeader() { return std::move(header_); }

  bool null() { Refuse("null"); }
  bool boolean(bool) { Refuse("a truth value"); }
  bool number_integer(int64_t value) {
    Refuse("the number " + std::to_string(value));
  }
  bool number_float(double, const std::string& text) {
    Refuse("the number " + text.substr(0, 40));
  }
  bool binary(nlohmann::json::binary_t&) { Refuse("binary data"); }
  bool number_unsigned(uint64_t value);
  bool string(std::string& value);
  bool start_object(size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(size_t);
  bool end_array();
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception&);

 private:
  enum class Place { kStart, kTop, kTensor, kMetadata, kShape, kOffsets, kEnd };

  SafetensorsEntry& entry() { return header_.entries.back(); }
  std::string Where() const;
  [[noreturn]] void Fail(const std::string& message) const;
  [[noreturn]] void Refuse(const std::string& found) const;
  void StartTopValue(const std::string& name);
  void CheckTensorKey(const std::string& name);

  std::string_view source_name_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::string key_;  // the last key seen at the present depth
  std::unordered_set<std::string> top_keys_;
  std::unordered_set<std::string> tensor_keys_;
  size_t num_offsets_ = 0;
};

std::string HeaderHandler::Where() const {
  switch (place_) {
    case Place::kTensor:
    case Place::kShape:
    case Place::kOffsets:
      return "tensor " + Quoted(header_.entries.back().name) +
             (key_.empty() ? "" : ", " + Quoted(key_));
    case Place::kMetadata:
      return "__metadata__" + (key_.empty() ? "" : ", " + Quoted(key_));
    default:
      return key_.empty() ? "header" : "header, " + Quoted(key_);
  }
}

void HeaderHandler::Fail(const std::string& message) const {
  ThrowBadData(std::string(source_name_) + ": " + Where() + ": " + message);
}

void HeaderHandler::Refuse(const std::string& found) const {
  switch (place_) {
    case Place::kTensor:
      Fail("found " + found +
           ", wanted a type name for dtype, a list of whole numbers for shape "
           "and data_offsets");
    case Place::kMetadata:
      Fail("found " + found + ", wanted a string");
    case Place::kShape:
    case Place::kOffsets:
      Fail("found " + found + ", wanted a whole number from 0 to 2^63 - 1");
    default:
      Fail("found " + found + ", wanted an object");
  }
}

bool HeaderHandler::number_unsigned(uint64_t value) {
  const bool listed = place_ == Place::kShape || place_ == Place::kOffsets;
  if (!listed || value > std::numeric_limits<int64_t>::max()) {
    Refuse("the number " + std::to_string(value));
  }
  if (place_ == Place::kShape) {
    entry().shape.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (num_offsets_ == 2) Fail("more than two numbers");
  (num_offsets_++ == 0 ? entry().begin : entry().end) = value;
  return true;
}

bool HeaderHandler::string(std::string& value) {
  if (place_ == Place::kMetadata) {
    header_.metadata[key_] = std::move(value);
    return true;
  }
  if (place_ != Place::kTensor || key_ != "dtype") {
    Refuse("the string " + Quoted(value));
  }
  const std::optional<DType> dtype = DTypeNamed(value);
  if (!dtype) Fail("unknown type " + Quoted(value));
  entry().dtype = *dtype;
  return true;
}

bool HeaderHandler::start_object(size_t) {
  if (place_ == Place::kStart) {
    place_ = Place::kTop;
  } else if (place_ == Place::kTop) {
    StartTopValue(key_);
  } else {
    Refuse("an object");
  }
  key_.clear();
  return true;
}

void HeaderHandler::StartTopValue(const std::string& name) {
  if (name == kMetadata) {
    place_ = Place::kMetadata;
    return;
  }
  place_ = Place::kTensor;
  header_.entries.emplace_back().name = name;
  tensor_keys_.clear();
}

bool HeaderHandler::key(std::string& name) {
  key_ = name;
  if (name.find('\0') != std::string::npos) {
    Fail("a NUL byte in a name hides what follows it from other readers");
  }
  if (place_ == Place::kTop && !top_keys_.insert(name).second) {
    Fail("the name occurs twice");
  }
  if (place_ == Place::kMetadata && header_.metadata.contains(name)) {
    Fail("the key occurs twice");
  }
  if (place_ == Place::kTensor) CheckTensorKey(name);
  return true;
}

void HeaderHandler::CheckTensorKey(const std::string& name) {
  if (name != "dtype" && name != "shape" && name != "data_offsets") {
    Fail("unknown field, known are dtype, shape and data_offsets");
  }
  if (!tensor_keys_.insert(name).second) Fail("the field occurs twice");
}

bool HeaderHandler::end_object() {
  key_.clear();
  if (place_ == Place::kTensor && tensor_keys_.size() != 3) {
    Fail("dtype, shape or data_offsets is missing");
  }
  place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
  return true;
}

bool HeaderHandler::start_array(size_t) {
  if (place_ != Place::kTensor || key_ == "dtype") Refuse("a list");
  place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
  num_offsets_ = 0;
  return true;
}

bool HeaderHandler::end_array() {
  if (place_ == Place::kOffsets && num_offsets_ != 2) {
    Fail("found " + std::to_string(num_offsets_) + " numbers, wanted two");
  }
  place_ = Place::kTensor;
  return true;
}

bool HeaderHandler::parse_error(size_t position, const std::string&,
                                const nlohmann::json::exception&) {
  ThrowBadData(std::string(source_name_) + ": header byte " +
               std::to_string(position) +
               ": not JSON in UTF-8, the file is damaged or is no safetensors "
               "file");
}

}  // namespace

SafetensorsHeader ParseSafetensorsHeader(std::string_view text,
                                         std::string_view source_name) {
  // The JSON reader takes a NUL byte for the end of its input.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    ThrowBadData(std::string(source_name) + ": header byte " +
                 std::to_string(nul + 1) + ": a NUL byte");
  }
  HeaderHandler handler(source_name);
  nlohmann::json::sax_parse(text, &handler);
  return handler.TakeHeader();
}

}  // namespace pipeformer
