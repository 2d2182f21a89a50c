#include "formats/tensor_stream.h"

#include <algorithm>
#include <string_view>

#include "formats/little_endian.h"
#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr std::string_view kMagic = "PFTENSOR";
constexpr uint32_t kVersion = 1;
constexpr size_t kFrameHeaderBytes = 24;

}  // namespace

void WriteTensorFrame(const std::string& id, TensorCollection collection,
                      std::ostream& out) {
  collection.metadata["id"] = id;
  const size_t length = SafetensorsBytes(collection);
  if (length > kMaxFrameBytes) {
    ThrowBadData("record " + Quoted(id) + ": a frame of " +
                 std::to_string(length) + " bytes, the limit is " +
                 std::to_string(kMaxFrameBytes));
  }
  std::string header(kMagic);
  AppendLittleEndian<uint32_t>(kVersion, header);
  AppendLittleEndian<uint32_t>(0, header);
  AppendLittleEndian<uint64_t>(length, header);
  out.write(header.data(), static_cast<std::streamsize>(header.size()));
  WriteSafetensors(collection, out);
}

TensorStreamReader::TensorStreamReader(std::istream& in,
                                       std::string source_name,
                                       uint64_t max_frame_bytes)
    : in_(in),
      source_name_(std::move(source_name)),
      max_frame_bytes_(max_frame_bytes) {}

std::optional<TensorFrame> TensorStreamReader::Next() {
  Check(!broken_, "a broken tensor stream is read on");
  std::string header(kFrameHeaderBytes, '\0');
  const size_t got = Read(header.data(), header.size());
  if (got == 0) return std::nullopt;
  const uint64_t frame_index = num_frames_++;
  header.resize(got);
  std::string payload = ReadPayload(ReadFrameHeader(header));
  TensorFile tensors = TensorFile::FromBytes(
      std::move(payload),
      source_name_ + ": frame " + std::to_string(frame_index));
  const auto& metadata = tensors.collection().metadata;
  const auto id = metadata.find("id");
  return TensorFrame{
      id == metadata.end() ? std::to_string(frame_index) : id->second,
      std::move(tensors)};
}

void TensorStreamReader::Break(const std::string& message) {
  broken_ = true;
  ThrowBadData(source_name_ + ": frame " + std::to_string(num_frames_ - 1) +
               ": " + message);
}

size_t TensorStreamReader::Read(char* to, size_t size) {
  try {
    in_.read(to, static_cast<std::streamsize>(size));
  } catch (...) {
    broken_ = true;
    throw;
  }
  if (in_.bad()) {
    broken_ = true;
    throw Error(ExitCode::kInputOutput, source_name_ + ": cannot read");
  }
  return static_cast<size_t>(in_.gcount());
}

// Checks a frame's own header; returns the length of its payload.
uint64_t TensorStreamReader::ReadFrameHeader(const std::string& header) {
  const std::string_view magic =
      std::string_view(header).substr(0, kMagic.size());
  if (!kMagic.starts_with(magic)) {
    Break("begins with " + Quoted(magic) +
          ", wanted 'PFTENSOR'; this is no tensor stream");
  }
  if (header.size() < kFrameHeaderBytes) {
    Break("the stream breaks off after " + std::to_string(header.size()) +
          " of the frame header's " + std::to_string(kFrameHeaderBytes) +
          " bytes");
  }
  const std::string_view fields =
      std::string_view(header).substr(kMagic.size());
  const auto version = LoadLittleEndian<uint32_t>(fields);
  if (version != kVersion) {
    Break("version " + std::to_string(version) +
          ", this program reads version " + std::to_string(kVersion));
  }
  const auto zero = LoadLittleEndian<uint32_t>(fields.substr(4));
  if (zero != 0) {
    Break("the reserved field is " + std::to_string(zero) + ", wanted 0");
  }
  const auto length = LoadLittleEndian<uint64_t>(fields.substr(8));
  if (length > max_frame_bytes_) {
    Break("a length of " + std::to_string(length) + " bytes, the limit is " +
          std::to_string(max_frame_bytes_));
  }
  return length;
}

// Memory grows with what arrives, so that a length alone allocates little.
std::string TensorStreamReader::ReadPayload(uint64_t length) {
  constexpr uint64_t kFirstChunkBytes = 1 << 20;
  std::string payload;
  while (payload.size() < length) {
    const size_t used = payload.size();
    payload.resize(std::min(length, 2 * used + kFirstChunkBytes));
    const size_t got = Read(payload.data() + used, payload.size() - used);
    if (used + got < payload.size()) {
      Break("the stream breaks off after " + std::to_string(used + got) +
            " of the payload's " + std::to_string(length) + " bytes");
    }
  }
  return payload;
}

}  // namespace pipeformer
