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
  if (frames_ && sides_[0].num_sentences() >= kFrameSentences) WriteFrame();
}

void CorpusPacker::WriteFrame() {
  const std::string id = std::to_string(num_written_);
  auto& out = tool_.output();
  WriteTensorFrame(id, PackCorpus(sides_, vocabulary_hashes_), out.stream());
  out.stream().flush();
  num_written_ += sides_[0].num_sentences();
  sides_.assign(sides_.size(), PackedIds());
}

void CorpusPacker::Finish() {
  if (sides_.empty()) {  // no good record at all: sentences, all of them empty
    sides_.resize(1);
    for (uint64_t i = 0; i < num_blank_; ++i) sides_[0].Add({});
  }
  if (!frames_) {
    const TensorCollection corpus = PackCorpus(sides_, vocabulary_hashes_);
    WriteSafetensors(corpus, tool_.output().stream());
  } else if (sides_[0].num_sentences() > 0) {
    WriteFrame();
  }
}

}  // namespace pipeformer
