// Tensor streams: records of tensors through a pipe, one frame each. A frame
// is the magic `PFTENSOR`, a version, zero, a length, and a safetensors file
// of that length whose metadata hold the record's `id`.
#ifndef PIPEFORMER_FORMATS_TENSOR_STREAM_H_
#define PIPEFORMER_FORMATS_TENSOR_STREAM_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

#include "formats/tensor_file.h"
#include "formats/tensor_view.h"

namespace pipeformer {

inline constexpr uint64_t kMaxFrameBytes = uint64_t{1} << 32;  // 4 GiB

// Writes one frame: `collection` with `id` set in its metadata. Does not
// flush. Throws bad data when the frame would pass kMaxFrameBytes.
void WriteTensorFrame(const std::string& id, TensorCollection collection,
                      std::ostream& out);

struct TensorFrame {
  // `__metadata__.id`; the frame's number from 0 where the writer gave none.
  std::string id;
  TensorFile tensors;
};

// Reads a stream of frames in order.
class TensorStreamReader {
 public:
  // `source_name` begins every message. Frames longer than `max_frame_bytes`
  // are refused before memory is asked for. Requires: `in` outlives this.
  TensorStreamReader(std::istream& in, std::string source_name,
                     uint64_t max_frame_bytes = kMaxFrameBytes);

  // The next frame, or nothing at the end of the stream. Throws kBadData with
  // the frame's number, and with byte counts where the stream breaks off;
  // kInputOutput when the stream cannot be read, or what the stream itself
  // throws. After a throw, `can_go_on` tells whether the next frame can still
  // be found.
  std::optional<TensorFrame> Next();

  // True unless a frame's own header was wrong or the stream broke off: a
  // payload that is no safetensors file spoils only its own record.
  bool can_go_on() const { return !broken_; }

  // Frames begun so far, bad ones included.
  uint64_t num_frames() const { return num_frames_; }

 private:
  [[noreturn]] void Break(const std::string& message);
  size_t Read(char* to, size_t size);
  uint64_t ReadFrameHeader(const std::string& header);
  std::string ReadPayload(uint64_t length);

  std::istream& in_;
  std::string source_name_;
  uint64_t max_frame_bytes_;
  uint64_t num_frames_ = 0;
  bool broken_ = false;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_TENSOR_STREAM_H_
