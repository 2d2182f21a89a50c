#include "tools/training_data.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "formats/input.h"
#include "lib/base/error.h"
#include "lib/text/word_links.h"
#include "tools/forced_pairs.h"

namespace pipeformer {
namespace {

constexpr size_t kWaitingPairs = 1 << 14;  // pairs encoded at once

int64_t CountLines(LineReader& reader) {
  int64_t count = 0;
  for (Line line; reader.Next(&line);) ++count;
  return count;
}

}  // namespace

TrainingData::TrainingData(Tool& tool, const DataSource& source,
                           const VocabularyPair& vocabularies, WorkerPool& pool)
    : tool_(tool),
      vocabularies_(vocabularies),
      pool_(pool),
      units_(source.units),
      max_length_(source.max_length),
      keep_text_(source.keep_text) {
  if (source.notes) notes_.emplace(*source.notes);
  if (notes_ && notes_->aligns()) link_offsets_.assign(1, 0);
  const auto& files = source.files;
  if (source.from == "tensors") {
    OpenPacked(files);
  } else if (source.from == "text" && units_ == TrainedOn::kPairs) {
    for (size_t i = 0; i + 1 < files.size(); i += 2) {
      ReadParallel(files[i], files[i + 1]);
    }
  } else {
    for (const std::string& file : files) ReadLines(file, source.from);
  }
  if (notes_) notes_->Finish();
}

PairNote TrainingData::NextNote(const std::string& place) {
  return notes_ ? notes_->Next(place) : PairNote();
}

int64_t TrainingData::bytes() const {
  const auto of = [](const auto& list) {
    return list.size() * sizeof(list.front());
  };
  size_t sum = of(weights_) + of(links_) + of(link_offsets_);
  for (const auto& links : word_links_) sum += sizeof(links) + of(links);
  for (const PackedIds* side : {&source_, &target_}) {
    sum += of(side->ids) + of(side->offsets);
  }
  if (packed_) sum += packed_->bytes();
  for (const auto* texts : {&source_text_, &target_text_}) {
    for (const std::string& text : *texts) sum += sizeof(text) + text.size();
  }
  return static_cast<int64_t>(sum);
}

void TrainingData::ReadLines(const std::string& file, const std::string& from) {
  LineReader reader(OpenInput(file), tool_.options().invalid_utf8);
  places_.BeginFile(reader.name(), Numbering::kLines);
  for (Line line; reader.Next(&line);) {
    tool_.CountReplaced(line.num_replaced);
    const Origin origin = {reader.Place(line.number), line.number};
    PairNote note = NextNote(origin.place);
    try {
      if (!line.error.empty()) ThrowBadData(line.error);
      if (line.text.empty()) {
        ++num_blank_;
      } else {
        WaitLine(line.text, from, origin, std::move(note));
      }
    } catch (const Error& error) {
      tool_.BadRecord(error.what());
    }
  }
  EncodeWaiting();  // before the next file begins
}

void TrainingData::WaitLine(const std::string& text, const std::string& from,
                            const Origin& origin, PairNote note) {
  const std::string& place = origin.place;
  if (from == "text") {
    Wait("", text, origin, std::move(note));
  } else if (from == "tsv") {
    TextPair pair = SplitPair(text, place);
    Wait(std::move(pair.source), std::move(pair.target), origin,
         std::move(note));
  } else {
    Json record = ParseRecord(text, place);
    RefuseErrorRecord(record, place);
    if (notes_) notes_->ReadKeys(record, place, &note);
    if (units_ == TrainedOn::kSentences) {
      Wait("", std::move(record), origin, std::move(note));
    } else if (IsPairRecord(record)) {
      Wait(std::move(record["source"]), std::move(record["target"]), origin,
           std::move(note));
    } else {
      ThrowBadData(place +
                   ": the record has no 'source' and 'target'; a language "
                   "model learns sentences with --lm-data sentences");
    }
  }
}

void TrainingData::ReadParallel(const std::string& source,
                                const std::string& target) {
  LineReader sources(OpenInput(source), tool_.options().invalid_utf8);
  LineReader targets(OpenInput(target), tool_.options().invalid_utf8);
  places_.BeginFile(sources.name(), Numbering::kLines);
  for (int64_t count = 0;; ++count) {
    Line from, to;
    const bool has_source = sources.Next(&from);
    const bool has_target = targets.Next(&to);
    if (!has_source && !has_target) break;
    if (has_source != has_target) {
      const int64_t more =
          count + 1 + CountLines(has_source ? sources : targets);
      ThrowBadData(source + " has " +
                   std::to_string(has_source ? more : count) + " lines, but " +
                   target + " has " +
                   std::to_string(has_target ? more : count) +
                   "; both must have the same number");
    }
    tool_.CountReplaced(from.num_replaced + to.num_replaced);
    const Origin origin = {sources.Place(from.number), from.number};
    PairNote note = NextNote(origin.place);
    if (from.error.empty() && to.error.empty()) {
      Wait(std::move(from.text), std::move(to.text), origin, std::move(note));
    } else {
      tool_.BadRecord(from.error.empty() ? to.error : from.error);
    }
  }
  EncodeWaiting();
}

void TrainingData::OpenPacked(const std::vector<std::string>& files) {
  packed_.emplace(units_, vocabularies_);
  std::vector<int64_t> begins;  // the number of each file's first record
  for (const std::string& file : files) {
    begins.push_back(packed_->all().size());
    packed_->Open(file);
  }
  int64_t number = 0;
  size_t next_file = 0;
  packed_->Keep([&](auto source, auto target) {
    while (next_file < files.size() && begins[next_file] == number) {
      const std::string& file = files[next_file++];
      places_.BeginFile(file == "-" ? "standard input" : file,
                        Numbering::kRecords);
    }
    const PairNote note =
        NextNote("record " + std::to_string(number) + " of --train-sets");
    const int64_t in_file = number++ - begins[next_file - 1];
    return Keeps(source, target, note, in_file);
  });
  if (keep_text_ == KeepText::kNone) return;
  const IdList targets = packed_->corpus().target;
  for (int64_t s = 0; s < targets.size(); ++s) {
    target_text_.push_back(vocabularies_.target->Decode(targets[s]));
  }
}

void TrainingData::Wait(Json source, Json target, const Origin& origin,
                        PairNote note) {
  waiting_.push_back({.source = std::move(source),
                      .target = std::move(target),
                      .place = origin.place,
                      .number = origin.number,
                      .note = std::move(note),
                      .encoded_source = {},
                      .encoded_target = {},
                      .links = {},
                      .problem = {}});
  if (waiting_.size() >= kWaitingPairs) EncodeWaiting();
}

void TrainingData::EncodeWaiting() {
  std::atomic<size_t> next = 0;
  pool_.Run([&](int) {
    for (size_t i; (i = next++) < waiting_.size();) Encode(waiting_[i]);
  });
  for (const Waiting& pair : waiting_) {
    if (pair.problem.empty()) {
      Add(pair);
    } else {
      tool_.BadRecord(pair.problem);
    }
  }
  waiting_.clear();
}

void TrainingData::Encode(Waiting& pair) const {
  try {
    pair.encoded_source =
        EncodeSentence(pair.source, *vocabularies_.source, pair.place);
    pair.encoded_target =
        EncodeSentence(pair.target, *vocabularies_.target, pair.place);
  } catch (const Error& error) {
    pair.problem = error.what();
    return;
  }
  try {
    pair.links =
        LinkPieces(pair.encoded_source, pair.encoded_target, pair.note.links);
  } catch (const Error& error) {
    pair.problem = pair.note.links_place + ": " + error.what();
  }
}

bool TrainingData::Keeps(std::span<const int32_t> source,
                         std::span<const int32_t> target, const PairNote& note,
                         int64_t number) {
  const bool sentences = units_ == TrainedOn::kSentences;
  if ((source.empty() && !sentences) || target.empty()) {
    ++num_blank_;
    return false;
  }
  if (static_cast<int64_t>(std::max(source.size(), target.size())) >
      max_length_) {
    ++num_long_;
    return false;
  }
  if (note.weight == 0) {
    ++num_weightless_;
    return false;
  }
  if (note.weight != 1 || !weights_.empty()) {
    weights_.resize(static_cast<size_t>(num_kept_), 1);
    weights_.push_back(note.weight);
  }
  ++num_kept_;
  places_.Add(number);
  return true;
}

void TrainingData::Add(const Waiting& pair) {
  const Sentence& source = pair.encoded_source;
  const Sentence& target = pair.encoded_target;
  if (!Keeps(source.ids, target.ids, pair.note, pair.number)) return;
  source_.Add(source.ids);
  target_.Add(target.ids);
  if (!link_offsets_.empty()) {
    links_.insert(links_.end(), pair.links.begin(), pair.links.end());
    link_offsets_.push_back(static_cast<int64_t>(links_.size()));
  }
  KeepTexts(pair);
}

void TrainingData::KeepTexts(const Waiting& pair) {
  if (keep_text_ == KeepText::kNone) return;
  const auto text_of = [](const Sentence& sentence, const auto& vocabulary) {
    return sentence.text.empty() ? vocabulary->Decode(sentence.ids)
                                 : sentence.text;
  };
  target_text_.push_back(text_of(pair.encoded_target, vocabularies_.target));
  if (keep_text_ == KeepText::kTarget) return;
  source_text_.push_back(text_of(pair.encoded_source, vocabularies_.source));
  if (!link_offsets_.empty()) word_links_.push_back(pair.note.links);
}

}  // namespace pipeformer
