// Boost's Zstandard filter takes the end of a cut-off file for the end of the
// data. This filter stands before it, walks along the frames and throws where
// the file ends within one. Used by formats/input alone.
// Source: RFC 8878, section 3.1 (frames and blocks) and 3.1.2 (skippable).
#ifndef PIPEFORMER_FORMATS_INPUT_ZSTD_H_
#define PIPEFORMER_FORMATS_INPUT_ZSTD_H_

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/read.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pipeformer {

// Follows the structure of a Zstandard file, whatever the cuts between reads.
class ZstdFrameWalk {
 public:
  // Takes the next `count` bytes of the file.
  void Take(const char* data, size_t count);

  // True where a file may end: at least one frame, and all of them whole.
  // Also true in content that is no frame, which the decompressor refuses.
  bool AtFrameEnd() const;

 private:
  enum class State { kMagic, kDescriptor, kBlockHeader, kSkipSize, kUnknown };

  void EndField();
  void StartField(State state, size_t bytes, uint64_t skip);

  State state_ = State::kMagic;
  uint64_t skip_ = 0;   // bytes to pass over before the field
  size_t need_ = 4;     // bytes of the field
  size_t taken_ = 0;    // bytes of the field read so far
  uint32_t value_ = 0;  // the field, little-endian
  bool checksum_ = false;
  bool any_ = false;
};

class ZstdFrameFilter {
 public:
  using char_type = char;
  struct category : boost::iostreams::input_filter_tag,
                    boost::iostreams::multichar_tag {};

  explicit ZstdFrameFilter(std::string name) : name_(std::move(name)) {}

  // Throws Error (kBadData) at an end within a frame.
  template <class Source>
  std::streamsize read(Source& source, char* dst, std::streamsize count) {
    const std::streamsize got = boost::iostreams::read(source, dst, count);
    if (got < 0) {
      CheckEnd();
    } else {
      walk_.Take(dst, static_cast<size_t>(got));
    }
    return got;
  }

 private:
  void CheckEnd() const;

  std::string name_;
  ZstdFrameWalk walk_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_INPUT_ZSTD_H_
