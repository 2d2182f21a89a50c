#include "formats/records.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <utility>

#include "formats/tensor_stream.h"

namespace pipeformer {
namespace {

// The deepest nesting of brackets outside strings.
int Depth(std::string_view line) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return deepest;
}

// The library's reason without its own prefix, which names a line and a column
// of the record instead of the file.
std::string Reason(const Json::exception& error) {
  std::string text = error.what();
  for (const std::string_view before : {"] ", "column "}) {
    const size_t at = text.find(before);
    if (at != std::string::npos) text.erase(0, at + before.size());
  }
  const size_t colon = text.find(": ");
  const bool column = colon != std::string::npos && !text.empty() &&
                      text[0] >= '0' && text[0] <= '9';
  return column ? "byte " + text : text;
}

std::string Shown(const Json& value) {
  const auto replace = Json::error_handler_t::replace;
  const std::string text = value.dump(-1, ' ', true, replace);
  constexpr size_t kMaxShown = 60;
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

[[noreturn]] void ThrowWrongType(const std::string& place, const char* key,
                                 const char* wanted, const Json& value) {
  ThrowBadData(place + ": the key '" + key + "' must be " + wanted + ", not " +
               Shown(value));
}

}  // namespace

Json ParseRecord(std::string_view line, const std::string& place) {
  if (Depth(line) > kMaxRecordDepth) {
    ThrowBadData(place + ": nested deeper than the limit of " +
                 std::to_string(kMaxRecordDepth) + " levels; flatten it");
  }
  if (line.find('\0') != std::string_view::npos) {
    ThrowBadData(place +
                 ": holds a NUL byte, which no JSON has; write it as "
                 "\\u0000");  // the parser would stop there
  }
  Json record;
  try {
    record = Json::parse(line.begin(), line.end());
  } catch (const Json::exception& error) {
    ThrowBadData(place + ": not a JSON object on one line: " + Reason(error));
  }
  if (!record.is_object()) {
    ThrowBadData(place + ": a record must be a JSON object, not " +
                 Shown(record));
  }
  const Json* id = Find(record, "id");
  if (id != nullptr && !id->is_number_integer() && !id->is_string()) {
    ThrowWrongType(place, "id", "an integer or a string", *id);
  }
  return record;
}

std::string DumpRecord(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json WithId(Json record, uint64_t index) {
  if (record.contains("id")) return record;
  Json result = {{"id", index}};
  for (auto& item : record.items()) {
    result[item.key()] = std::move(item.value());
  }
  return result;
}

std::string RecordFrame(const Json& id, TensorCollection tensors) {
  std::ostringstream out;
  WriteTensorFrame(id.is_string() ? id.get<std::string>() : id.dump(),
                   std::move(tensors), out);
  return std::move(out).str();
}

Json ErrorRecord(const Json& id, const std::string& message, int64_t line,
                 ExitCode code) {
  return {{"id", id},
          {"error",
           {{"code", static_cast<int>(code)},
            {"message", message},
            {"line", line}}}};
}

bool IsErrorRecord(const Json& record) {
  const Json* error = Find(record, "error");
  return error != nullptr && error->is_object();
}

std::string BadRecordLine(const Json& record, const std::string& message,
                          int64_t line) {
  if (IsErrorRecord(record)) return DumpRecord(record);
  return DumpRecord(ErrorRecord(record.at("id"), message, line));
}

void RefuseErrorRecord(const Json& record, const std::string& place) {
  if (!IsErrorRecord(record)) return;
  const Json& error = record.at("error");
  const bool told = error.is_object() && error.contains("message") &&
                    error["message"].is_string();
  ThrowBadData(place + ": an error record came in" +
               (told ? ": " + error["message"].get<std::string>() : ""));
}

bool IsPairRecord(const Json& record) {
  return record.contains("source") && record.contains("target");
}

std::string SentenceText(const Json& sentence, const std::string& place) {
  if (sentence.is_string()) return sentence.get<std::string>();
  const Json* text = sentence.is_object() ? Find(sentence, "text") : nullptr;
  if (text == nullptr) {
    ThrowBadData(place + ": no key 'text' in " + Shown(sentence));
  }
  if (!text->is_string()) ThrowWrongType(place, "text", "a string", *text);
  return text->get<std::string>();
}

std::optional<std::vector<std::string>> SentenceTokens(
    const Json& sentence, const std::string& place) {
  const Json* tokens =
      sentence.is_object() ? Find(sentence, "tokens") : nullptr;
  if (tokens == nullptr) return std::nullopt;
  const auto is_string = [](const Json& item) { return item.is_string(); };
  if (!tokens->is_array() ||
      !std::all_of(tokens->begin(), tokens->end(), is_string)) {
    ThrowWrongType(place, "tokens", "a list of strings", *tokens);
  }
  return tokens->get<std::vector<std::string>>();
}

std::optional<std::vector<int32_t>> SentenceIds(const Json& sentence,
                                                const std::string& place) {
  const Json* ids = sentence.is_object() ? Find(sentence, "ids") : nullptr;
  if (ids == nullptr) return std::nullopt;
  const auto is_id = [](const Json& item) {
    return item.is_number_integer() && item >= 0 &&
           item <= std::numeric_limits<int32_t>::max();
  };
  if (!ids->is_array() || !std::all_of(ids->begin(), ids->end(), is_id)) {
    ThrowWrongType(place, "ids", "a list of integers from 0", *ids);
  }
  return ids->get<std::vector<int32_t>>();
}

void SetSentence(const Sentence& sentence, Json* json) {
  if (!json->is_object()) *json = Json::object();
  Json offsets = Json::array();
  for (const TextSpan& span : sentence.offsets) {
    offsets.push_back(Json::array({span.begin, span.end}));
  }
  (*json)["text"] = sentence.text;
  (*json)["tokens"] = sentence.tokens;
  (*json)["ids"] = sentence.ids;
  (*json)["offsets"] = std::move(offsets);
}

TextPair SplitPair(std::string_view line, const std::string& place) {
  const auto num_tabs = std::count(line.begin(), line.end(), '\t');
  if (num_tabs != 1) {
    ThrowBadData(place + ": " + std::to_string(num_tabs) +
                 " tabs, a pair has exactly 1 (source TAB target); join two "
                 "files with paste, and replace tabs in the text");
  }
  const size_t at = line.find('\t');
  return {std::string(line.substr(0, at)), std::string(line.substr(at + 1))};
}

std::vector<int32_t> ParseIds(std::string_view text, const std::string& place) {
  std::vector<int32_t> ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return ids;
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    int32_t id = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, id);
    if (stop != end || error != std::errc() || id < 0) {
      ThrowBadData(place + ": '" + std::string(word.substr(0, 60)) +
                   "' is not an id; ids are whole numbers from 0, separated "
                   "by spaces");
    }
    ids.push_back(id);
  }
}

std::string FormatIds(const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) {
    if (!text.empty()) text += ' ';
    char digits[16];
    const auto end = std::to_chars(digits, digits + sizeof(digits), id).ptr;
    text.append(digits, end);
  }
  return text;
}

}  // namespace pipeformer
