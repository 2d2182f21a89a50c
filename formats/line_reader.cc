#include "formats/line_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "lib/base/error.h"
#include "lib/base/utf8.h"

namespace pipeformer {
namespace {

constexpr size_t kReadBytes = size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string HexByte(char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  const auto value = static_cast<unsigned char>(byte);
  return std::string("0x") + kDigits[value >> 4] + kDigits[value & 15];
}

}  // namespace

LineReader::LineReader(std::unique_ptr<Input> input, InvalidUtf8 policy,
                       size_t max_line_bytes)
    : input_(std::move(input)),
      policy_(policy),
      max_line_bytes_(max_line_bytes),
      size_(input_->BytesLeft()) {}

std::optional<double> LineReader::ShareGiven() const {
  const auto left = input_->BytesLeft();
  if (!size_ || !left || *size_ == 0) return std::nullopt;
  const auto whole = static_cast<double>(*size_);
  const double rest = static_cast<double>(*left + (end_ - begin_)) / whole;
  return std::clamp(1 - rest, 0.0, 1.0);  // it may have grown
}

std::string LineReader::Place(int64_t number) const {
  return name() + ":" + std::to_string(number);
}

// Moves scanned_ to the next LF, or to end_ when there is none.
bool LineReader::FindLineEnd() {
  const void* found =
      std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
  if (found == nullptr) {
    scanned_ = end_;
    return false;
  }
  scanned_ =
      static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
  return true;
}

void LineReader::Fill() {
  if (end_ - begin_ > max_line_bytes_) {
    ThrowBadData(Place(num_lines_ + 1) + ": line longer than the limit of " +
                 std::to_string(max_line_bytes_) +
                 " bytes; check that this is text with LF at line ends");
  }
  if (begin_ > 0 && buffer_.size() - end_ < kReadBytes) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kReadBytes) {
    buffer_.resize(std::max(2 * buffer_.size(), end_ + kReadBytes));
  }
  const size_t count = input_->Read(std::span(buffer_).subspan(end_));
  end_ += count;
  at_end_ = count == 0;
}

bool LineReader::WaitForLine(int timeout_ms) {
  while (!FindLineEnd() && !at_end_) {
    if (!input_->Wait(timeout_ms)) return false;
    Fill();
  }
  return true;
}

bool LineReader::Next(Line* line) {
  while (!FindLineEnd()) {
    if (at_end_) {
      if (begin_ == end_) return false;
      Take(end_ - begin_, line);
      begin_ = scanned_ = end_;
      return true;
    }
    Fill();
  }
  size_t size = scanned_ - begin_;
  if (size > 0 && buffer_[begin_ + size - 1] == '\r') --size;
  Take(size, line);
  begin_ = ++scanned_;
  return true;
}

void LineReader::Take(size_t size, Line* line) {
  std::string_view text(buffer_.data() + begin_, size);
  if (++num_lines_ == 1 && text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  line->number = num_lines_;
  line->error.clear();
  line->num_replaced = 0;
  if (text.size() > max_line_bytes_) {
    ThrowBadData(Place(num_lines_) + ": line of " +
                 std::to_string(text.size()) + " bytes, the limit is " +
                 std::to_string(max_line_bytes_) +
                 "; check that this is text with LF at line ends");
  }
  const size_t bad = FindInvalidUtf8(text);
  if (bad != std::string_view::npos && policy_ == InvalidUtf8::kReplace) {
    line->text = ReplaceInvalidUtf8(text, &line->num_replaced);
    return;
  }
  line->text.assign(text);
  if (bad == std::string_view::npos) return;
  line->error = Place(num_lines_) + ": byte " + std::to_string(bad + 1) +
                " of the line (" + HexByte(text[bad]) +
                ") is not UTF-8; convert the text, or use --invalid-utf8 "
                "replace";
}

}  // namespace pipeformer
