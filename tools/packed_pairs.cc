#include "tools/packed_pairs.h"

#include <iostream>
#include <numeric>
#include <utility>

#include "formats/sha256.h"
#include "formats/tensor_stream.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

// Refuses a side that `vocabulary` did not make.
void CheckVocabulary(const std::string& name, const std::string& hash,
                     int32_t largest_id, const Vocabulary& vocabulary) {
  if (Sha256Hex(vocabulary.model()) != hash) {
    ThrowBadData(name +
                 ": was packed with another vocabulary than --vocabs names; "
                 "pack it again");
  }
  if (largest_id >= vocabulary.size()) {
    ThrowBadData(name + ": holds the id " + std::to_string(largest_id) +
                 ", the vocabulary has " + std::to_string(vocabulary.size()) +
                 " pieces; pack it again");
  }
}

}  // namespace

void PackedPairs::Open(const std::string& file) {
  if (file != "-") return Add(TensorFile::Open(file));
  TensorStreamReader frames(std::cin, "standard input");
  while (auto frame = frames.Next()) Add(std::move(frame->tensors));
}

void PackedPairs::Add(TensorFile file) {
  const PackedCorpus packed = ReadPackedCorpus(file);
  const std::string& name = file.source_name();
  const bool sentences = units_ == TrainedOn::kSentences;
  if (packed.sides.size() != (sentences ? 1 : 2)) {
    ThrowBadData(name +
                 (sentences
                      ? ": holds pairs, not sentences; --lm-data pairs learns "
                        "from them"
                      : ": holds sentences, not pairs; pack `source TAB "
                        "target` lines with tokenize --from tsv, or teach a "
                        "language model with --lm-data sentences"));
  }
  const auto& hashes = packed.vocabulary_hashes;
  CheckVocabulary(name, hashes.front(), packed.largest_ids.front(),
                  *vocabularies_.source);
  CheckVocabulary(name, hashes.back(), packed.largest_ids.back(),
                  *vocabularies_.target);
  size_ += packed.sides[0].size();
  if (size_ > kMaxSentences) {
    ThrowBadData(name + ": with it the corpus has " + std::to_string(size_) +
                 " records, the limit is " + std::to_string(kMaxSentences) +
                 "; train on fewer at a time");
  }
  if (!sentences) sources_.push_back(packed.sides[0]);
  targets_.push_back(packed.sides.back());
  files_.push_back(std::move(file));
}

PairCorpus PackedPairs::List(
    const std::optional<std::vector<uint32_t>>& kept) const {
  std::optional<std::span<const uint32_t>> numbers;
  if (kept) numbers = *kept;
  IdList targets(targets_, numbers);
  if (units_ == TrainedOn::kPairs) {
    return {IdList(sources_, numbers), std::move(targets)};
  }
  const int64_t size = targets.size();
  return {IdList::OfEmpty(size), std::move(targets)};
}

void PackedPairs::Keep(
    const std::function<bool(Ids source, Ids target)>& keeps) {
  const PairCorpus pairs = all();
  for (int64_t n = 0; n < pairs.size(); ++n) {
    const bool keep = keeps(pairs.source[n], pairs.target[n]);
    if (!keep && !kept_) {
      kept_.emplace();
      kept_->reserve(static_cast<size_t>(pairs.size()));
      kept_->resize(static_cast<size_t>(n));
      std::iota(kept_->begin(), kept_->end(), 0);
    } else if (keep && kept_) {
      kept_->push_back(static_cast<uint32_t>(n));
    }
  }
}

}  // namespace pipeformer
