#include "formats/packed_corpus.h"

#include <algorithm>

#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr char kFormat[] = "pipeformer-corpus";
constexpr char kVersion[] = "1";

// What the names of a side's tensors begin with.
std::vector<std::string> Prefixes(size_t num_sides) {
  if (num_sides == 1) return {""};
  return {"source.", "target."};
}

// The metadata keys of the hashes, as in a model file.
std::vector<std::string> HashKeys(size_t num_vocabularies) {
  if (num_vocabularies == 1) return {"sha256.vocab.joint"};
  return {"sha256.vocab.source", "sha256.vocab.target"};
}

// Gives the largest id.
int32_t CheckSide(const IdBlock& side, const std::string& name) {
  const auto& offsets = side.offsets;
  if (offsets.empty() || offsets.front() != 0 ||
      offsets.back() != static_cast<int64_t>(side.ids.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    ThrowBadData(name +
                 ": the offsets do not rise from 0 to the number of ids; make "
                 "the file anew with tokenize");
  }
  if (side.ids.empty()) return -1;
  const auto [least, largest] =
      std::minmax_element(side.ids.begin(), side.ids.end());
  if (*least < 0) {
    ThrowBadData(name + ": an id is negative; make the file anew");
  }
  return *largest;
}

}  // namespace

void PackedIds::Add(std::span<const int32_t> sentence) {
  ids.insert(ids.end(), sentence.begin(), sentence.end());
  offsets.push_back(static_cast<int64_t>(ids.size()));
}

TensorCollection PackCorpus(const std::vector<IdBlock>& sides,
                            const std::vector<std::string>& vocabulary_hashes) {
  Check(sides.size() == 1 || sides.size() == 2, "a corpus has 1 or 2 sides");
  Check(vocabulary_hashes.size() == 1 || vocabulary_hashes.size() == 2,
        "a corpus has 1 or 2 vocabularies");
  TensorCollection corpus;
  corpus.metadata = {{"format", kFormat}, {"version", kVersion}};
  const auto keys = HashKeys(vocabulary_hashes.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    corpus.metadata[keys[i]] = vocabulary_hashes[i];
  }
  const auto prefixes = Prefixes(sides.size());
  for (size_t i = 0; i < sides.size(); ++i) {
    Check(sides[i].size() == sides[0].size(),
          "the sides of a corpus have the same number of sentences");
    const auto& [ids, offsets] = sides[i];
    const auto size = [](auto list) {
      return static_cast<int64_t>(list.size());
    };
    corpus.Add(prefixes[i] + "ids", ViewOf(ids, {size(ids)}));
    corpus.Add(prefixes[i] + "offsets", ViewOf(offsets, {size(offsets)}));
  }
  SortForAlignment(corpus);
  return corpus;
}

PackedCorpus ReadPackedCorpus(const TensorFile& file) {
  file.RequireFormat(kFormat, kVersion, "make one with tokenize --to tensors");
  PackedCorpus corpus;
  const bool pairs = file.collection().Find("source.ids") != nullptr;
  for (const std::string& prefix : Prefixes(pairs ? 2 : 1)) {
    const IdBlock side = {
        file.At(prefix + "ids", DType::kI32, {-1}).Elements<int32_t>(),
        file.At(prefix + "offsets", DType::kI64, {-1}).Elements<int64_t>()};
    corpus.largest_ids.push_back(CheckSide(side, file.source_name()));
    corpus.sides.push_back(side);
  }
  if (corpus.sides.back().size() != corpus.sides.front().size()) {
    ThrowBadData(file.source_name() +
                 ": source and target have different numbers of sentences; "
                 "make the file anew with tokenize");
  }
  for (const size_t count : {1, 2}) {
    for (const std::string& key : HashKeys(count)) {
      const auto hash = file.collection().metadata.find(key);
      if (hash == file.collection().metadata.end()) continue;
      corpus.vocabulary_hashes.push_back(hash->second);
    }
  }
  if (corpus.vocabulary_hashes.empty()) {
    ThrowBadData(file.source_name() +
                 ": does not name its vocabulary (sha256.vocab.*); make the "
                 "file anew with tokenize");
  }
  return corpus;
}

}  // namespace pipeformer
