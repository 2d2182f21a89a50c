#include "tools/sentence_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "formats/records.h"
#include "lib/base/error.h"
#include "tools/forced_pairs.h"

namespace pipeformer {

namespace {

constexpr int64_t kMostPieces = 4000;  // as --max-length

// A number of pieces under `key` of a record, if it has one.
std::optional<int64_t> LengthOf(const Json& record, const char* key,
                                const std::string& place) {
  const auto found = record.find(key);
  if (found == record.end() || found->is_null()) return std::nullopt;
  if (found->is_number_integer() && *found >= 0 && *found <= kMostPieces) {
    return found->get<int64_t>();
  }
  ThrowBadData(place + ": `" + key + "` is " + found->dump() +
               "; give a whole number of pieces from 0 to " +
               std::to_string(kMostPieces));
}

}  // namespace

void SentenceReader::Read(const std::string& text, const std::string& place,
                          uint64_t index, SentenceToTranslate& sentence) const {
  if (settings_.from == "jsonl") {
    ReadRecord(text, place, index, sentence);
  } else {
    ReadFields(text, place, sentence);
  }
  CheckLength(static_cast<int64_t>(sentence.source.ids.size()), place);
  CheckRoom(sentence, place);
}

void SentenceReader::ReadRecord(const std::string& text,
                                const std::string& place, uint64_t index,
                                SentenceToTranslate& sentence) const {
  sentence.record = WithId(ParseRecord(text, place), index);
  const Json& record = sentence.record;
  RefuseErrorRecord(record, place);
  sentence.source =
      EncodeSentence(record.contains("source") ? record["source"] : record,
                     *model_.vocabularies.source, place);
  const auto prefix = record.find("prefix");
  if (settings_.prefix && prefix != record.end() && !prefix->is_null()) {
    sentence.prefix =
        EncodeSentence(*prefix, *model_.vocabularies.target, place);
  }
  const auto constraints = record.find("constraints");
  if (settings_.constraints && constraints != record.end() &&
      !constraints->is_null()) {
    Constrain(*constraints, place, sentence);
  }
  sentence.min_length = LengthOf(record, "min_length", place);
  sentence.max_length = LengthOf(record, "max_length", place);
}

// The source and, behind TABs, the prefix and the constraints.
void SentenceReader::ReadFields(const std::string& text,
                                const std::string& place,
                                SentenceToTranslate& sentence) const {
  std::string source = text;
  if (settings_.constraints) {
    const size_t fields = settings_.prefix ? 2 : 1;
    Json words = Json::array();
    std::vector<std::string> parts(1);
    for (const char c : text) {
      if (c != '\t') {
        parts.back() += c;
      } else {
        parts.emplace_back();
      }
    }
    for (size_t i = fields; i < parts.size(); ++i) words.push_back(parts[i]);
    Constrain(words, place, sentence);
    source = parts[0];
    if (settings_.prefix && parts.size() > 1) source += "\t" + parts[1];
  }
  if (settings_.prefix) {
    TextPair pair = SplitPair(source, place);
    sentence.prefix = model_.vocabularies.target->Encode(pair.target);
    source = std::move(pair.source);
  }
  sentence.source = model_.vocabularies.source->Encode(source);
}

void SentenceReader::Constrain(const Json& words, const std::string& place,
                               SentenceToTranslate& sentence) const {
  if (!words.is_array()) {
    ThrowBadData(place + ": `constraints` is " + words.dump() +
                 "; give a list of texts");
  }
  const Vocabulary& vocabulary = *model_.vocabularies.target;
  for (const Json& word : words) {
    const Sentence pieces = EncodeSentence(word, vocabulary, place);
    const bool unknown = std::ranges::any_of(
        pieces.ids, [&](int32_t id) { return vocabulary.IsUnknown(id); });
    if (pieces.ids.empty() || unknown) {
      ThrowBadData(place + ": the constraint " + word.dump() +
                   (unknown ? " has a piece that the vocabulary lacks; leave "
                              "it out or write it another way"
                            : " is empty; leave it out"));
    }
    sentence.constraints.push_back(pieces.ids);
  }
}

// A text to continue may be longer than what is added to it.
void SentenceReader::CheckLength(int64_t length,
                                 const std::string& place) const {
  if (continues()) {
    const int64_t limit = model_.network->config().max_positions - 1;
    if (length <= limit) return;
    ThrowBadData(place + ": " + std::to_string(length) +
                 " pieces, the model takes at most " + std::to_string(limit) +
                 "; give it a shorter beginning");
  }
  if (length <= max_length_) return;
  ThrowBadData(place + ": " + std::to_string(length) +
               " pieces, the limit of --max-length and of the model is " +
               std::to_string(max_length_) +
               "; split the sentence or raise --max-length");
}

// What a result must hold fits in the model's positions.
void SentenceReader::CheckRoom(const SentenceToTranslate& sentence,
                               const std::string& place) const {
  const auto prefix = static_cast<int64_t>(sentence.prefix.ids.size());
  const int64_t constrained = NumPieces(sentence.constraints);
  if (sentence.source.ids.empty() && prefix + constrained > 0) {
    ThrowBadData(place +
                 (prefix > 0
                      ? ": a prefix without a source; give `source TAB prefix`"
                      : ": constraints without a source; give `source TAB "
                        "word`"));
  }
  const TransformerConfig& config = model_.network->config();
  const auto source = static_cast<int64_t>(sentence.source.ids.size());
  const int64_t room = config.max_positions - PromptRows(config, source);
  if (prefix + constrained <= room) return;
  ThrowBadData(place +
               (constrained == 0 ? ": the prefix has " + std::to_string(prefix)
                                 : ": prefix and constraints have " +
                                       std::to_string(prefix + constrained)) +
               " pieces, after this source the model takes at most " +
               std::to_string(room) + "; shorten " +
               (constrained == 0 ? "it" : "them"));
}

}  // namespace pipeformer
