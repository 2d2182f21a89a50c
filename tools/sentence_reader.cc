#include "tools/sentence_reader.h"

#include "formats/records.h"
#include "lib/base/error.h"
#include "tools/forced_pairs.h"

namespace pipeformer {

void SentenceReader::Read(const std::string& text, const std::string& place,
                          uint64_t index, SentenceToTranslate& sentence) const {
  const Vocabulary& vocabulary = *model_.vocabularies.source;
  if (settings_.from == "jsonl") {
    sentence.record = WithId(ParseRecord(text, place), index);
    RefuseErrorRecord(sentence.record, place);
    const Json& json = sentence.record.contains("source")
                           ? sentence.record["source"]
                           : sentence.record;
    sentence.source = EncodeSentence(json, vocabulary, place);
    const auto prefix = sentence.record.find("prefix");
    if (settings_.prefix && prefix != sentence.record.end() &&
        !prefix->is_null()) {
      sentence.prefix =
          EncodeSentence(*prefix, *model_.vocabularies.target, place);
    }
  } else if (settings_.prefix) {
    const TextPair pair = SplitPair(text, place);
    sentence.source = vocabulary.Encode(pair.source);
    sentence.prefix = model_.vocabularies.target->Encode(pair.target);
  } else {
    sentence.source = vocabulary.Encode(text);
  }
  CheckLength(static_cast<int64_t>(sentence.source.ids.size()), place);
  CheckPrefix(sentence, place);
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

void SentenceReader::CheckPrefix(const SentenceToTranslate& sentence,
                                 const std::string& place) const {
  if (sentence.source.ids.empty() && !sentence.prefix.ids.empty()) {
    ThrowBadData(place +
                 ": a prefix without a source; give `source TAB prefix`");
  }
  const TransformerConfig& config = model_.network->config();
  const auto source = static_cast<int64_t>(sentence.source.ids.size());
  const auto prefix = static_cast<int64_t>(sentence.prefix.ids.size());
  const int64_t room = config.max_positions - PromptRows(config, source);
  if (prefix <= room) return;
  ThrowBadData(place + ": the prefix has " + std::to_string(prefix) +
               " pieces, after this source the model takes at most " +
               std::to_string(room) + "; shorten it");
}

}  // namespace pipeformer
