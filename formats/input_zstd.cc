#include "formats/input_zstd.h"

#include <algorithm>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr uint32_t kFrameMagic = 0xFD2FB528u;
constexpr uint32_t kSkippableMagic = 0x184D2A50u;  // the low 4 bits are free

// The bytes of a frame header after its descriptor (3.1.1.1).
size_t HeaderBytes(uint32_t descriptor) {
  constexpr size_t kDictionaryBytes[] = {0, 1, 2, 4};
  constexpr size_t kContentBytes[] = {0, 2, 4, 8};
  const bool single_segment = (descriptor >> 5) & 1;
  size_t content = kContentBytes[descriptor >> 6];
  if (single_segment && content == 0) content = 1;
  return (single_segment ? 0 : 1) + kDictionaryBytes[descriptor & 3] + content;
}

}  // namespace

void ZstdFrameWalk::StartField(State state, size_t bytes, uint64_t skip) {
  state_ = state;
  need_ = bytes;
  skip_ = skip;
  taken_ = 0;
  value_ = 0;
}

void ZstdFrameWalk::Take(const char* data, size_t count) {
  // Content that is no frame at all is for the decompressor to refuse.
  while (count > 0 && state_ != State::kUnknown) {
    if (skip_ > 0) {
      const size_t step = std::min<uint64_t>(skip_, count);
      skip_ -= step;
      data += step;
      count -= step;
      continue;
    }
    value_ |= static_cast<uint32_t>(static_cast<uint8_t>(*data))
              << (8 * taken_);
    ++data;
    --count;
    if (++taken_ == need_) EndField();
  }
}

void ZstdFrameWalk::EndField() {
  const uint32_t value = value_;
  switch (state_) {
    case State::kMagic:
      any_ = true;
      if (value == kFrameMagic) {
        StartField(State::kDescriptor, 1, 0);
      } else if ((value & ~0xFu) == kSkippableMagic) {
        StartField(State::kSkipSize, 4, 0);
      } else {
        StartField(State::kUnknown, 0, 0);
      }
      return;
    case State::kDescriptor:
      checksum_ = (value >> 2) & 1;
      StartField(State::kBlockHeader, 3, HeaderBytes(value));
      return;
    case State::kBlockHeader: {
      const bool last = value & 1;
      const bool repeated_byte = ((value >> 1) & 3) == 1;
      const uint64_t size = repeated_byte ? 1 : value >> 3;
      if (last) {
        StartField(State::kMagic, 4, size + (checksum_ ? 4 : 0));
      } else {
        StartField(State::kBlockHeader, 3, size);
      }
      return;
    }
    case State::kSkipSize:
      StartField(State::kMagic, 4, value);
      return;
    case State::kUnknown:
      return;
  }
}

bool ZstdFrameWalk::AtFrameEnd() const {
  return state_ == State::kUnknown ||
         (state_ == State::kMagic && taken_ == 0 && skip_ == 0 && any_);
}

void ZstdFrameFilter::CheckEnd() const {
  if (walk_.AtFrameEnd()) return;
  ThrowBadData(name_ +
               ": the compressed data ends too early; fetch or compress the "
               "file again");
}

}  // namespace pipeformer
