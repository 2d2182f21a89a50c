// Records as JSON-lines and as TAB-separated pairs. A record stays the object
// it was read as, so that keys a program does not know pass through in their
// order; README.md of this folder lists the keys that it does know.
#ifndef PIPEFORMER_FORMATS_RECORDS_H_
#define PIPEFORMER_FORMATS_RECORDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_view.h"
#include "lib/base/error.h"
#include "lib/text/sentence.h"

namespace pipeformer {

// Keeps the order of keys.
using Json = nlohmann::ordered_json;

// Deeper nesting is refused, so that no record exhausts the stack.
inline constexpr int kMaxRecordDepth = 100;

// In all functions `place` is the `file:line` that begins a message, and the
// error thrown for a bad record is Error (kBadData).

// The object on one line of JSON-lines. Throws on anything else than exactly
// one object: other values, bytes after it, escapes of lone surrogates,
// numbers beyond double precision's range, too deep nesting, and an `id` that
// is neither an integer nor a string.
// Requires: `line` is UTF-8.
Json ParseRecord(std::string_view line, const std::string& place);

// `record` as one line, LF included. NaN and infinity become null; a string
// that is not UTF-8 gets U+FFFD where it is not. Throws nothing.
std::string DumpRecord(const Json& record);

// `record` with an `id`: its own, or `index` put before all other keys.
Json WithId(Json record, uint64_t index);

// `tensors` as a frame of a tensor stream (tensor_stream.h) with that `id`.
// Throws bad data as WriteTensorFrame does.
std::string RecordFrame(const Json& id, TensorCollection tensors);

// What stands in the place of a record that could not be processed.
Json ErrorRecord(const Json& id, const std::string& message, int64_t line,
                 ExitCode code = ExitCode::kBadData);

// The line for a bad record: an error record with the id of `record`, or
// `record` itself where it is one of a program before.
std::string BadRecordLine(const Json& record, const std::string& message,
                          int64_t line);

// Throws Error (kBadData) with the reason it brings when `record` is an error
// record.
void RefuseErrorRecord(const Json& record, const std::string& place);

// Whether `record` is one, from a program before in the pipe.
bool IsErrorRecord(const Json& record);

// Whether `record` has a `source` and a `target`.
bool IsPairRecord(const Json& record);

// A sentence is an object with `text`, or its text alone: both forms are read
// wherever a record holds a sentence.
std::string SentenceText(const Json& sentence, const std::string& place);

// The `tokens` or `ids` of a sentence; nothing where it has none. Throws where
// they are no list of strings or of integers.
std::optional<std::vector<std::string>> SentenceTokens(
    const Json& sentence, const std::string& place);
std::optional<std::vector<int32_t>> SentenceIds(const Json& sentence,
                                                const std::string& place);

// Sets `text`, `tokens`, `ids` and `offsets` in `*json` and keeps its other
// keys. A string becomes an object.
void SetSentence(const Sentence& sentence, Json* json);

// `source TAB target`.
struct TextPair {
  std::string source;
  std::string target;
};

// Throws where `line` has not exactly one TAB.
TextPair SplitPair(std::string_view line, const std::string& place);

// The numbers of a line `5 12 4`, separated by single spaces or more.
std::vector<int32_t> ParseIds(std::string_view text, const std::string& place);

// The way back: `5 12 4`.
std::string FormatIds(const std::vector<int32_t>& ids);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_RECORDS_H_
