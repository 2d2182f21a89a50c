#include "tools/tokenize_records.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "formats/sha256.h"
#include "lib/base/error.h"
#include "tools/corpus_packer.h"

namespace pipeformer {
namespace {

constexpr const char* kSideKeys[] = {"source", "target"};

std::vector<std::string> SplitPieces(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find(' '));
    if (!piece.empty()) pieces.emplace_back(piece);
    text.remove_prefix(std::min(piece.size() + 1, text.size()));
  }
  return pieces;
}

std::string JoinPieces(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) {
    if (!text.empty()) text += ' ';
    text += piece;
  }
  return text;
}

}  // namespace

Tokenizer::Tokenizer(const TokenizeSettings& settings, const Tool& tool)
    : settings_(settings),
      from_(settings.from.value_or(settings.detokenize ? "jsonl" : "text")),
      to_(settings.to.value_or(settings.detokenize ? "text" : "jsonl")),
      random_(tool.options().seed) {
  if (settings.vocabularies.size() > 2) {
    ThrowUsage("--vocab: " + std::to_string(settings.vocabularies.size()) +
               " files; give one, or one for the source and one for the "
               "target");
  }
  CheckCombination();
  constexpr size_t kMaxModelBytes = size_t{1} << 30;
  for (const std::string& path : settings.vocabularies) {
    if (path == "-" && tool.options().inputs[0] == "-") {
      ThrowUsage("--vocab -: standard input is the text; name a file");
    }
    vocabularies_.push_back(std::make_unique<Vocabulary>(
        ReadAll(*OpenInput(path), kMaxModelBytes), path));
    if (settings.sample && !vocabularies_.back()->CanSample()) {
      ThrowUsage("--sample: " + path +
                 " is of whole words or characters, which have one cut");
    }
  }
}

void Tokenizer::CheckCombination() const {
  if (!settings_.detokenize) {
    if (from_ == "ids") ThrowUsage("--from ids: needs --detokenize");
    if (settings_.unk_surface) ThrowUsage("--unk-surface: needs --detokenize");
    return;
  }
  if (to_ != "text" && to_ != "jsonl") {
    ThrowUsage("--to " + to_ + ": --detokenize gives text or jsonl");
  }
  if (settings_.sample) ThrowUsage("--sample: not with --detokenize");
}

// What is read before a fault stays in `item`, so that its id is known.
void Tokenizer::Read(const std::string& text, const std::string& place,
                     Item* item) const {
  item->blank = text.empty();
  if (item->blank && from_ != "text") {
    item->is_pair = from_ == "tsv";
    item->sides.resize(item->is_pair ? 2 : 1);
    return;
  }
  if (from_ == "jsonl") {
    ReadJson(text, place, item);
    return;
  }
  if (from_ == "tsv") {
    TextPair pair = SplitPair(text, place);
    item->is_pair = true;
    item->sides = {{.text = std::move(pair.source)},
                   {.text = std::move(pair.target)}};
  } else {
    item->sides = {{.text = text}};
  }
  if (!settings_.detokenize) return;
  for (Sentence& side : item->sides) {
    if (from_ == "ids") {
      side.ids = ParseIds(side.text, place);
    } else {
      side.tokens = SplitPieces(side.text);
    }
  }
}

void Tokenizer::ReadJson(const std::string& text, const std::string& place,
                         Item* item) const {
  item->json = ParseRecord(text, place);
  if (IsErrorRecord(item->json)) return;
  item->is_pair = IsPairRecord(item->json);
  if (item->is_pair) {
    for (const char* key : kSideKeys) {
      item->sides.push_back(ReadSide(item->json[key], place));
    }
  } else {
    item->sides.push_back(ReadSide(item->json, place));
  }
}

Sentence Tokenizer::ReadSide(const Json& json, const std::string& place) const {
  if (!settings_.detokenize) return {.text = SentenceText(json, place)};
  if (auto tokens = SentenceTokens(json, place)) {
    return {.tokens = std::move(*tokens)};
  }
  if (auto ids = SentenceIds(json, place)) return {.ids = std::move(*ids)};
  ThrowBadData(place + ": neither 'tokens' nor 'ids' to make text of");
}

Sentence Tokenizer::Encode(const std::string& text, size_t side,
                           uint64_t index) const {
  const Vocabulary& vocabulary = VocabularyOf(side);
  if (!settings_.sample) return vocabulary.Encode(text);
  return vocabulary.SampleEncode(text, *settings_.sample,
                                 random_.Fork(index).Fork(side));
}

std::string Tokenizer::Decode(const Sentence& sentence, size_t side) const {
  const Vocabulary& vocabulary = VocabularyOf(side);
  return sentence.tokens.empty()
             ? vocabulary.Decode(sentence.ids, settings_.unk_surface)
             : vocabulary.Decode(sentence.tokens, settings_.unk_surface);
}

// A record is one line: an LF or TAB that a JSON string brought in would break
// it, and becomes a space.
std::string Tokenizer::WriteLine(const Item& item) const {
  if (item.blank) return "\n";
  std::string line;
  for (const Sentence& side : item.sides) {
    std::string text = settings_.detokenize ? side.text
                       : to_ == "ids"       ? FormatIds(side.ids)
                                            : JoinPieces(side.tokens);
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (item.is_pair) std::replace(text.begin(), text.end(), '\t', ' ');
    if (&side != item.sides.data()) line += '\t';
    line += text;
  }
  return line + "\n";
}

std::string Tokenizer::Write(Item item, uint64_t index) const {
  if (packs()) return CorpusPacker::Record(item.sides);
  if (to_ != "jsonl") return WriteLine(item);
  Json record = WithId(std::move(item.json), index);
  for (size_t side = 0; side < item.sides.size(); ++side) {
    Json& json = item.is_pair ? record[kSideKeys[side]] : record;
    if (!settings_.detokenize) {
      SetSentence(item.sides[side], &json);
    } else {
      if (!json.is_object()) json = Json::object();
      json["text"] = item.sides[side].text;
    }
  }
  return DumpRecord(record);
}

RecordResult Tokenizer::Bad(const InputRecord& record, const Json& id,
                            const std::string& message) const {
  if (packs()) return {.bytes = CorpusPacker::Record({}), .problem = message};
  if (to_ != "jsonl") return {.bytes = "\n", .problem = message};
  return {.bytes = DumpRecord(ErrorRecord(id, message, record.line.number)),
          .problem = message};
}

// Fills in what is asked for: pieces and ids, or text.
void Tokenizer::Convert(const InputRecord& record, Item* item) const {
  for (size_t side = 0; side < item->sides.size(); ++side) {
    Sentence& sentence = item->sides[side];
    if (settings_.detokenize) {
      sentence.text = Decode(sentence, side);
      continue;
    }
    sentence = Encode(sentence.text, side, record.index);
    const auto length = static_cast<int64_t>(sentence.ids.size());
    if (!settings_.max_length || length <= *settings_.max_length) continue;
    ThrowBadData(std::to_string(length) +
                 " pieces, the limit of --max-length is " +
                 std::to_string(*settings_.max_length) +
                 "; split the sentence or raise the limit");
  }
}

RecordResult Tokenizer::Process(const InputRecord& record) const {
  const std::string place = record.Place();
  Item item;
  try {
    if (!record.line.error.empty()) ThrowBadData(record.line.error);
    Read(record.line.text, place, &item);
    if (item.sides.empty()) {
      const std::string problem = place + ": an error record came in";
      if (to_ != "jsonl") return Bad(record, record.index, problem);
      return {.bytes = DumpRecord(WithId(std::move(item.json), record.index)),
              .problem = problem};
    }
    Convert(record, &item);
    return {.bytes = Write(std::move(item), record.index)};
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool placed =
        message == record.line.error || message.starts_with(place);
    return Bad(record, WithId(std::move(item.json), record.index)["id"],
               placed ? message : place + ": " + message);
  }
}

std::vector<std::string> Tokenizer::VocabularyHashes() const {
  std::vector<std::string> hashes;
  for (const auto& vocabulary : vocabularies_) {
    hashes.push_back(Sha256Hex(vocabulary->model()));
  }
  return hashes;
}

const Vocabulary& Tokenizer::VocabularyOf(size_t side) const {
  return *vocabularies_[std::min(side, vocabularies_.size() - 1)];
}

}  // namespace pipeformer
