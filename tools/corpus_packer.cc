#include "tools/corpus_packer.h"

#include <cstring>
#include <utility>

#include "formats/safetensors.h"
#include "formats/tensor_stream.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

void AppendNumber(uint32_t number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

uint32_t TakeNumber(std::string_view* bytes) {
  uint32_t number = 0;
  Check(bytes->size() >= sizeof(number), "a packed record breaks off");
  std::memcpy(&number, bytes->data(), sizeof(number));
  bytes->remove_prefix(sizeof(number));
  return number;
}

std::vector<IdBlock> Views(const std::vector<PackedIds>& sides) {
  std::vector<IdBlock> views;
  for (const PackedIds& side : sides) views.push_back(side.view());
  return views;
}

template <class T>
std::span<const T> NumbersOf(const FileBytes& file) {
  return {reinterpret_cast<const T*>(file.bytes.data()),
          file.bytes.size() / sizeof(T)};
}

}  // namespace

CorpusPacker::CorpusPacker(Tool& tool,
                           std::vector<std::string> vocabulary_hashes)
    : tool_(tool),
      vocabulary_hashes_(std::move(vocabulary_hashes)),
      frames_(tool.options().output == "-") {}

std::string CorpusPacker::Record(const std::vector<Sentence>& sides) {
  std::string bytes;
  AppendNumber(static_cast<uint32_t>(sides.size()), &bytes);
  for (const Sentence& side : sides) {
    AppendNumber(static_cast<uint32_t>(side.ids.size()), &bytes);
    for (const int32_t id : side.ids) {
      AppendNumber(static_cast<uint32_t>(id), &bytes);
    }
  }
  return bytes;
}

void CorpusPacker::Add(std::string_view records) {
  while (!records.empty()) {
    std::vector<std::vector<int32_t>> sides(TakeNumber(&records));
    for (auto& ids : sides) {
      ids.resize(TakeNumber(&records));
      for (int32_t& id : ids) id = static_cast<int32_t>(TakeNumber(&records));
    }
    AddRecord(sides);
  }
}

void CorpusPacker::AddRecord(const std::vector<std::vector<int32_t>>& sides) {
  if (sides_.empty() && !sides.empty()) {
    sides_.resize(sides.size());
    for (PackedIds& side : sides_) {
      for (uint64_t i = 0; i < num_blank_; ++i) side.Add({});
    }
  }
  if (sides_.empty()) {
    ++num_blank_;
    return;
  }
  if (!sides.empty() && sides.size() != sides_.size()) {
    const uint64_t number = num_written_ + sides_[0].num_sentences();
    ThrowBadData("record " + std::to_string(number) +
                 " is not a pair where others are, or the reverse; a packed "
                 "corpus holds one kind, split the input");
  }
  for (size_t i = 0; i < sides_.size(); ++i) {
    sides_[i].Add(sides.empty() ? std::vector<int32_t>() : sides[i]);
  }
  if (sides_[0].num_sentences() < kFrameSentences) return;
  if (frames_) {
    WriteFrame();
  } else {
    Spill();
  }
}

void CorpusPacker::WriteFrame() {
  const std::string id = std::to_string(num_written_);
  auto& out = tool_.output();
  WriteTensorFrame(id, PackCorpus(Views(sides_), vocabulary_hashes_),
                   out.stream());
  out.stream().flush();
  Emptied();
}

void CorpusPacker::Emptied() {
  num_written_ += sides_[0].num_sentences();
  sides_.assign(sides_.size(), PackedIds());
}

void CorpusPacker::Spill() {
  for (size_t i = spilled_.size(); i < sides_.size(); ++i) {
    spilled_.push_back(std::make_unique<Spilled>(tool_.options().output));
  }
  for (size_t i = 0; i < sides_.size(); ++i) {
    Spilled& to = *spilled_[i];
    auto& [ids, offsets] = sides_[i];
    for (int64_t& offset : offsets) offset += to.num_ids;
    to.num_ids = offsets.back();
    to.ids.Write(std::as_bytes(std::span(ids)));
    to.offsets.Write(std::as_bytes(std::span(offsets).subspan(1)));
  }
  Emptied();
}

void CorpusPacker::WriteSpilled() {
  std::vector<FileBytes> files;
  std::vector<IdBlock> sides;
  for (const auto& side : spilled_) {
    const FileBytes& ids = files.emplace_back(side->ids.Map());
    const auto numbers = NumbersOf<int32_t>(ids);
    const FileBytes& offsets = files.emplace_back(side->offsets.Map());
    sides.push_back({numbers, NumbersOf<int64_t>(offsets)});
  }
  WriteSafetensors(PackCorpus(sides, vocabulary_hashes_),
                   tool_.output().stream());
}

void CorpusPacker::Finish() {
  if (sides_.empty()) {  // no good record at all: sentences, all of them empty
    sides_.resize(1);
    for (uint64_t i = 0; i < num_blank_; ++i) sides_[0].Add({});
  }
  if (!spilled_.empty()) {
    Spill();
    WriteSpilled();
  } else if (!frames_) {
    WriteSafetensors(PackCorpus(Views(sides_), vocabulary_hashes_),
                     tool_.output().stream());
  } else if (sides_[0].num_sentences() > 0) {
    WriteFrame();
  }
}

}  // namespace pipeformer
