#include "tools/training_data.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <utility>

#include "formats/input.h"
#include "formats/sha256.h"
#include "formats/tensor_stream.h"
#include "lib/base/error.h"
#include "tools/forced_pairs.h"

namespace pipeformer {
namespace {

constexpr size_t kWaitingPairs = 1 << 14;  // pairs encoded at once

int64_t CountLines(LineReader& reader) {
  int64_t count = 0;
  for (Line line; reader.Next(&line);) ++count;
  return count;
}

// Refuses a packed side that `vocabulary` did not make.
void CheckPacked(const TensorFile& file, const PackedSide& side,
                 const std::string& hash, const Vocabulary& vocabulary) {
  if (Sha256Hex(vocabulary.model()) != hash) {
    ThrowBadData(file.source_name() +
                 ": was packed with another vocabulary than --vocabs names; "
                 "pack it again");
  }
  const auto most = std::max_element(side.ids.begin(), side.ids.end());
  if (most != side.ids.end() && *most >= vocabulary.size()) {
    ThrowBadData(file.source_name() + ": holds the id " +
                 std::to_string(*most) + ", the vocabulary has " +
                 std::to_string(vocabulary.size()) + " pieces; pack it again");
  }
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
  const auto& files = source.files;
  if (source.from == "text" && units_ == TrainedOn::kPairs) {
    for (size_t i = 0; i + 1 < files.size(); i += 2) {
      ReadParallel(files[i], files[i + 1]);
    }
  } else {
    for (const std::string& file : files) {
      if (source.from == "tensors") {
        ReadTensors(file);
      } else {
        ReadLines(file, source.from);
      }
    }
  }
  EncodeWaiting();
}

std::string TrainingData::Hash() const {
  Sha256 hash;
  for (const PackedIds* side : {&source_, &target_}) {
    hash.Update(std::as_bytes(std::span(side->ids)));
    hash.Update(std::as_bytes(std::span(side->offsets)));
  }
  return hash.HexDigest();
}

void TrainingData::ReadLines(const std::string& file, const std::string& from) {
  LineReader reader(OpenInput(file), tool_.options().invalid_utf8);
  for (Line line; reader.Next(&line);) {
    tool_.CountReplaced(line.num_replaced);
    const std::string place = reader.Place(line.number);
    try {
      if (!line.error.empty()) ThrowBadData(line.error);
      if (line.text.empty()) {
        ++num_blank_;
      } else {
        WaitLine(line.text, from, place);
      }
    } catch (const Error& error) {
      tool_.BadRecord(error.what());
    }
  }
}

void TrainingData::WaitLine(const std::string& text, const std::string& from,
                            const std::string& place) {
  if (from == "text") {
    Wait("", text, place);
  } else if (from == "tsv") {
    TextPair pair = SplitPair(text, place);
    Wait(std::move(pair.source), std::move(pair.target), place);
  } else {
    Json record = ParseRecord(text, place);
    RefuseErrorRecord(record, place);
    if (units_ == TrainedOn::kSentences) {
      Wait("", std::move(record), place);
    } else if (IsPairRecord(record)) {
      Wait(std::move(record["source"]), std::move(record["target"]), place);
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
  for (int64_t count = 0;; ++count) {
    Line from, to;
    const bool has_source = sources.Next(&from);
    const bool has_target = targets.Next(&to);
    if (!has_source && !has_target) return;
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
    if (from.error.empty() && to.error.empty()) {
      Wait(std::move(from.text), std::move(to.text),
           sources.Place(from.number));
    } else {
      tool_.BadRecord(from.error.empty() ? to.error : from.error);
    }
  }
}

void TrainingData::ReadTensors(const std::string& file) {
  if (file != "-") {
    AddPacked(TensorFile::Open(file));
    return;
  }
  TensorStreamReader frames(std::cin, "standard input");
  while (const auto frame = frames.Next()) AddPacked(frame->tensors);
}

void TrainingData::Wait(Json source, Json target, const std::string& place) {
  waiting_.push_back({.source = std::move(source),
                      .target = std::move(target),
                      .place = place,
                      .encoded_source = {},
                      .encoded_target = {},
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
      AddEncoded(pair);
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
  }
}

void TrainingData::AddPacked(const TensorFile& file) {
  const PackedCorpus packed = ReadPackedCorpus(file);
  const bool sentences = units_ == TrainedOn::kSentences;
  if (packed.sides.size() != (sentences ? 1 : 2)) {
    ThrowBadData(file.source_name() +
                 (sentences
                      ? ": holds pairs, not sentences; --lm-data pairs learns "
                        "from them"
                      : ": holds sentences, not pairs; pack `source TAB "
                        "target` lines with tokenize --from tsv, or teach a "
                        "language model with --lm-data sentences"));
  }
  const auto& hashes = packed.vocabulary_hashes;
  CheckPacked(file, packed.sides[0], hashes.front(), *vocabularies_.source);
  CheckPacked(file, packed.sides.back(), hashes.back(), *vocabularies_.target);
  for (size_t i = 0; i < packed.sides[0].num_sentences(); ++i) {
    if (sentences) {
      AddPackedPair({}, packed.sides[0].At(i));
    } else {
      AddPackedPair(packed.sides[0].At(i), packed.sides[1].At(i));
    }
  }
}

void TrainingData::AddPackedPair(std::span<const int32_t> source,
                                 std::span<const int32_t> target) {
  if (Add(source, target) && keep_text_ != KeepText::kNone) {
    target_text_.push_back(vocabularies_.target->Decode(target));
  }
}

void TrainingData::AddEncoded(const Waiting& pair) {
  const Sentence& target = pair.encoded_target;
  if (!Add(pair.encoded_source.ids, target.ids)) return;
  if (keep_text_ == KeepText::kNone) return;
  target_text_.push_back(target.text.empty()
                             ? vocabularies_.target->Decode(target.ids)
                             : target.text);
  if (keep_text_ == KeepText::kBoth) {
    source_text_.push_back(pair.encoded_source.text);
  }
}

// False where the pair is left out.
bool TrainingData::Add(std::span<const int32_t> source,
                       std::span<const int32_t> target) {
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
  source_.Add(source);
  target_.Add(target);
  return true;
}

}  // namespace pipeformer
