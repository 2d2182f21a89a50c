// A stream of input bytes: a file, a compressed file, or standard input. Data
// is handed over as soon as it arrives, so that a lone line on a pipe can be
// answered at once.
#ifndef PIPEFORMER_FORMATS_INPUT_H_
#define PIPEFORMER_FORMATS_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace pipeformer {

class Input {
 public:
  virtual ~Input() = default;

  // Waits until at least one byte is there and gives what is there, at most
  // `dst.size()` bytes; 0 at the end. Requires: `dst` is not empty.
  // Throws Error: kInputOutput when reading fails, kBadData when compressed
  // data is damaged or ends too early.
  virtual size_t Read(std::span<char> dst) = 0;

  // True when `Read` would return at once (with data or with the end), waiting
  // at most `timeout_ms` milliseconds for that; 0 does not wait.
  virtual bool Wait(int timeout_ms) = 0;

  // Bytes that are left of a plain file; none where nobody knows.
  virtual std::optional<uint64_t> BytesLeft() const { return std::nullopt; }

  // How messages name this stream: the path, or `stdin`.
  const std::string& name() const { return name_; }

 protected:
  explicit Input(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

// Opens `path` for reading; `-` is standard input, taken as it is. A name that
// ends in .gz, .bz2, .xz or .zst is decompressed; several compressed streams
// in one file are read one after the other. Nothing is guessed from content.
// Throws Error: kInputMissing when there is no such file or it is a directory,
// kInputOutput when it cannot be read.
std::unique_ptr<Input> OpenInput(const std::string& path);

// All that is left of `input`, for files that must be whole, as models are.
// Throws Error: kBadData when it is longer than `max_bytes`; as `Read`.
std::string ReadAll(Input& input, size_t max_bytes);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_INPUT_H_
