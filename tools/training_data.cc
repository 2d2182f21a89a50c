#include "tools/training_data.h"

#include <atomic>
#include <fstream>
#include <iostream>
#include <utility>

#include "formats/input.h"
#include "formats/records.h"
#include "formats/sha256.h"
#include "formats/tensor_stream.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr size_t kWaitingPairs = 1 << 14;  // texts encoded at once

// The next good line, or false at the end.
bool NextLine(Tool& tool, LineReader& reader, Line& line) {
  if (!reader.Next(&line)) return false;
  if (!line.error.empty()) ThrowBadData(line.error);
  tool.CountReplaced(line.num_replaced);
  return true;
}

TextPair ParsePair(const std::string& line, const std::string& place,
                   const std::string& from) {
  if (from == "tsv") return SplitPair(line, place);
  const Json record = ParseRecord(line, place);
  if (!IsPairRecord(record)) {
    ThrowBadData(place + ": the record has no `source` and `target`");
  }
  return {SentenceText(record["source"], place),
          SentenceText(record["target"], place)};
}

int64_t CountLines(Tool& tool, LineReader& reader) {
  int64_t count = 0;
  for (Line line; NextLine(tool, reader, line);) ++count;
  return count;
}

}  // namespace

TrainingData::TrainingData(Tool& tool, const DataSource& source,
                           const VocabularyPair& vocabularies, WorkerPool& pool)
    : vocabularies_(vocabularies),
      pool_(pool),
      max_length_(source.max_length),
      keep_text_(source.keep_text) {
  if (source.from == "text") {
    ReadParallel(tool, source.files);
  } else {
    for (const std::string& file : source.files) {
      if (source.from == "tensors") {
        ReadTensors(tool, file);
      } else {
        ReadLines(tool, file, source.from);
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

void TrainingData::ReadLines(Tool& tool, const std::string& file,
                             const std::string& from) {
  LineReader reader(OpenInput(file), tool.options().invalid_utf8);
  for (Line line; NextLine(tool, reader, line);) {
    if (line.text.empty()) {
      ++num_blank_;
      continue;
    }
    TextPair pair = ParsePair(line.text, reader.Place(line.number), from);
    AddText(std::move(pair.source), std::move(pair.target));
  }
}

void TrainingData::ReadParallel(Tool& tool,
                                const std::vector<std::string>& files) {
  for (size_t i = 0; i + 1 < files.size(); i += 2) {
    LineReader source(OpenInput(files[i]), tool.options().invalid_utf8);
    LineReader target(OpenInput(files[i + 1]), tool.options().invalid_utf8);
    int64_t count = 0;
    for (;; ++count) {
      Line from, to;
      const bool has_source = NextLine(tool, source, from);
      const bool has_target = NextLine(tool, target, to);
      if (!has_source && !has_target) break;
      if (has_source != has_target) {
        const int64_t more =
            count + 1 + CountLines(tool, has_source ? source : target);
        ThrowBadData(files[i] + " has " +
                     std::to_string(has_source ? more : count) +
                     " lines, but " + files[i + 1] + " has " +
                     std::to_string(has_target ? more : count) +
                     "; both must have the same number");
      }
      AddText(std::move(from.text), std::move(to.text));
    }
  }
}

void TrainingData::ReadTensors(Tool&, const std::string& file) {
  if (file != "-") {
    AddPacked(TensorFile::Open(file));
    return;
  }
  TensorStreamReader frames(std::cin, "standard input");
  while (const auto frame = frames.Next()) AddPacked(frame->tensors);
}

void TrainingData::AddText(std::string source, std::string target) {
  waiting_source_.push_back(std::move(source));
  waiting_target_.push_back(std::move(target));
  if (waiting_source_.size() >= kWaitingPairs) EncodeWaiting();
}

void TrainingData::EncodeWaiting() {
  const size_t count = waiting_source_.size();
  std::vector<std::vector<int32_t>> source(count), target(count);
  std::atomic<size_t> next = 0;
  pool_.Run([&](int) {
    for (size_t i; (i = next++) < count;) {
      source[i] = vocabularies_.source->Encode(waiting_source_[i]).ids;
      target[i] = vocabularies_.target->Encode(waiting_target_[i]).ids;
    }
  });
  for (size_t i = 0; i < count; ++i) {
    const size_t before = source_.num_sentences();
    Add(source[i], target[i]);
    if (keep_text_ == KeepText::kYes && source_.num_sentences() > before) {
      target_text_.push_back(std::move(waiting_target_[i]));
    }
  }
  waiting_source_.clear();
  waiting_target_.clear();
}

void TrainingData::AddPacked(const TensorFile& file) {
  const PackedCorpus packed = ReadPackedCorpus(file);
  if (packed.sides.size() != 2) {
    ThrowBadData(file.source_name() +
                 ": holds sentences, not pairs; pack `source TAB target` "
                 "lines with tokenize --from tsv");
  }
  const auto check = [&](size_t side, const Vocabulary& vocabulary) {
    const auto& hashes = packed.vocabulary_hashes;
    if (Sha256Hex(vocabulary.model()) ==
        hashes[std::min(side, hashes.size() - 1)]) {
      return;
    }
    ThrowBadData(file.source_name() + ": was packed with another " +
                 (side == 0 ? "source" : "target") +
                 " vocabulary than --vocabs names; pack it again");
  };
  check(0, *vocabularies_.source);
  check(1, *vocabularies_.target);
  for (size_t i = 0; i < packed.sides[0].num_sentences(); ++i) {
    const size_t before = source_.num_sentences();
    Add(packed.sides[0].At(i), packed.sides[1].At(i));
    if (keep_text_ == KeepText::kYes && source_.num_sentences() > before) {
      target_text_.push_back(
          vocabularies_.target->Decode(packed.sides[1].At(i)));
    }
  }
}

void TrainingData::Add(std::span<const int32_t> source,
                       std::span<const int32_t> target) {
  if (source.empty() || target.empty()) {
    ++num_blank_;
    return;
  }
  if (static_cast<int64_t>(std::max(source.size(), target.size())) >
      max_length_) {
    ++num_long_;
    return;
  }
  source_.Add(source);
  target_.Add(target);
}

}  // namespace pipeformer
