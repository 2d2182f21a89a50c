// The buffer of a std::istream over an Input, for readers of that kind:
//   InputBuffer buffer(OpenInput(path));
//   std::istream in(&buffer);
//   in.exceptions(std::ios::badbit);  // what Input::Read throws gets through
#ifndef PIPEFORMER_FORMATS_INPUT_BUFFER_H_
#define PIPEFORMER_FORMATS_INPUT_BUFFER_H_

#include <array>
#include <memory>
#include <streambuf>
#include <string>
#include <utility>

#include "formats/input.h"

namespace pipeformer {

// Takes what is there and waits only where nothing is.
class InputBuffer : public std::streambuf {
 public:
  explicit InputBuffer(std::unique_ptr<Input> input)
      : input_(std::move(input)) {}

  const std::string& name() const { return input_->name(); }

  // Waits at most so long; true when a byte, or the end, is there to be read.
  bool Wait(int timeout_ms) {
    return gptr() != egptr() || input_->Wait(timeout_ms);
  }

 private:
  int_type underflow() override {
    const size_t size = input_->Read(bytes_);
    setg(bytes_.data(), bytes_.data(), bytes_.data() + size);
    return size == 0 ? traits_type::eof() : traits_type::to_int_type(bytes_[0]);
  }

  std::unique_ptr<Input> input_;
  std::array<char, 1 << 16> bytes_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_INPUT_BUFFER_H_
