#include "tools/forced_pairs.h"

#include <cmath>
#include <utility>

#include "lib/base/error.h"
#include "tools/translation.h"

namespace pipeformer {
namespace {

// Rows of source and target run together.
constexpr size_t kRowsTogether = 1024;

size_t RowsOf(const ForcedRecord& pair) {
  return pair.source.ids.size() + pair.target.ids.size() + 2;
}

bool Runs(const ForcedRecord& pair) {
  return !pair.blank && pair.problem.empty();
}

void CheckLength(const Sentence& sentence, const char* side,
                 const std::string& place, int64_t limit) {
  if (static_cast<int64_t>(sentence.ids.size()) < limit) return;
  ThrowBadData(place + ": the " + side + " has " +
               std::to_string(sentence.ids.size()) +
               " pieces, the model takes at most " + std::to_string(limit - 1) +
               "; split the sentence");
}

// Refuses ids that `vocabulary` does not have, or whose `tokens`, where the
// record has them, are not its pieces.
void CheckIds(const std::vector<int32_t>& ids, const Json& json,
              const Vocabulary& vocabulary, const std::string& place) {
  const auto tokens = SentenceTokens(json, place);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t id = ids[i];
    if (id < 0 || id >= vocabulary.size()) {
      ThrowBadData(place + ": id " + std::to_string(id) +
                   " is not in the model's vocabulary of " +
                   std::to_string(vocabulary.size()) +
                   " pieces; tokenize with the model's own vocabulary");
    }
    if (!tokens || tokens->size() != ids.size() || vocabulary.IsUnknown(id) ||
        (*tokens)[i] == vocabulary.PieceOf(id)) {
      continue;
    }
    ThrowBadData(place + ": token '" + (*tokens)[i] + "' has id " +
                 std::to_string(id) + ", which is '" + vocabulary.PieceOf(id) +
                 "' in the model's vocabulary; tokenize with the model's own");
  }
}

}  // namespace

ForcedPairs::ForcedPairs(const Model& model, std::string from,
                         const ForcedWishes& wishes)
    : model_(model),
      from_(std::move(from)),
      wishes_(wishes),
      decoder_(*model.network, BoundaryOf(model.vocabularies)) {
  const bool sentences =
      model.network->config().trained_on == TrainedOn::kSentences;
  if (from_.empty()) from_ = sentences ? "text" : "tsv";
  if (from_ == "text" && !sentences) {
    ThrowUsage(
        "--from text is for language models of sentences; this model takes "
        "pairs: tsv or jsonl");
  }
}

void ForcedPairs::Run(
    std::span<const InputRecord> records,
    const std::function<void(const InputRecord&, ForcedRecord&)>& take) {
  std::vector<ForcedRecord> pairs;
  size_t first = 0, rows = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    pairs.push_back(Read(records[i]));
    if (Runs(pairs.back())) rows += RowsOf(pairs.back());
    if (rows < kRowsTogether && i + 1 < records.size()) continue;
    RunTogether(pairs);
    for (ForcedRecord& pair : pairs) take(records[first++], pair);
    pairs.clear();
    rows = 0;
  }
}

ForcedRecord ForcedPairs::Read(const InputRecord& record) const {
  ForcedRecord pair;
  pair.record = WithId(Json::object(), record.index);
  const std::string place = record.Place();
  pair.place = place;
  try {
    if (!record.line.error.empty()) ThrowBadData(record.line.error);
    pair.blank = record.line.text.empty();
    if (pair.blank) return pair;
    if (from_ == "jsonl") {
      pair.record = WithId(ParseRecord(record.line.text, place), record.index);
      ReadJson(place, pair);
    } else if (from_ == "text") {
      pair.target = model_.vocabularies.target->Encode(record.line.text);
    } else {
      const TextPair text = SplitPair(record.line.text, place);
      pair.source = model_.vocabularies.source->Encode(text.source);
      pair.target = model_.vocabularies.target->Encode(text.target);
    }
    pair.blank = pair.source.ids.empty() && pair.target.ids.empty();
    CheckLengths(pair);
  } catch (const Error& error) {
    pair.problem = error.what();
  }
  return pair;
}

void ForcedPairs::CheckLengths(const ForcedRecord& pair) const {
  const TransformerConfig& config = model_.network->config();
  const int64_t limit = config.max_positions;
  CheckLength(pair.source, "source", pair.place, limit);
  CheckLength(pair.target, "target", pair.place, limit);
  const int64_t rows =
      PromptRows(config, static_cast<int64_t>(pair.source.ids.size())) +
      static_cast<int64_t>(pair.target.ids.size());
  if (rows <= limit) return;
  ThrowBadData(pair.place + ": source and target make a sequence of " +
               std::to_string(rows) + " pieces, the model takes at most " +
               std::to_string(limit) + "; split the sentences");
}

void ForcedPairs::ReadJson(const std::string& place, ForcedRecord& pair) const {
  const Json& json = pair.record;
  RefuseErrorRecord(json, place);
  const bool translated =
      !json.contains("target") && json.contains("hypotheses") &&
      json["hypotheses"].is_array() && !json["hypotheses"].empty();
  const bool paired =
      json.contains("source") && (json.contains("target") || translated);
  if (!paired && model_.network->config().trained_on == TrainedOn::kSentences) {
    pair.target = EncodeSentence(json, *model_.vocabularies.target, place);
    return;
  }
  if (!paired) {
    ThrowBadData(place +
                 ": the record has no 'source' with a 'target' or with "
                 "'hypotheses'; pairs come from tokenize --from tsv or decode "
                 "--to jsonl");
  }
  pair.source =
      EncodeSentence(json["source"], *model_.vocabularies.source, place);
  pair.target =
      EncodeSentence(translated ? json["hypotheses"][0] : json["target"],
                     *model_.vocabularies.target, place);
}

void ForcedPairs::RunTogether(std::span<ForcedRecord> pairs) {
  std::vector<ForcedPair> batch;
  for (const ForcedRecord& pair : pairs) {
    if (Runs(pair)) batch.push_back({pair.source.ids, pair.target.ids});
  }
  if (batch.empty()) return;
  std::vector<ForcedResult> results = decoder_.Run(batch, wishes_);
  auto next = results.begin();
  for (ForcedRecord& pair : pairs) {
    if (!Runs(pair)) continue;
    pair.result = std::move(*next++);
    if (std::isfinite(pair.result.log_prob)) continue;
    pair.problem = pair.place +
                   ": the model gives no finite probability; it is damaged or "
                   "its training diverged";
  }
}

Sentence EncodeSentence(const Json& json, const Vocabulary& vocabulary,
                        const std::string& place) {
  const auto ids = SentenceIds(json, place);
  if (ids) CheckIds(*ids, json, vocabulary, place);
  Sentence sentence;
  if (!ids || (json.is_object() && json.contains("text"))) {
    sentence = vocabulary.Encode(SentenceText(json, place));
  }
  if (!ids || *ids == sentence.ids) return sentence;
  // Another cut of the same text, or no text at all.
  sentence.ids = *ids;
  sentence.tokens.clear();
  sentence.offsets.clear();
  for (const int32_t id : *ids) {
    sentence.tokens.push_back(vocabulary.PieceOf(id));
  }
  return sentence;
}

}  // namespace pipeformer
