// Lines of text, by one rule for every program: only LF ends a line; one CR
// right before the LF is dropped; a UTF-8 byte order mark at the start of the
// stream is dropped; a last line without LF counts; NUL, U+2028, U+0085, VT and
// FF are ordinary characters. Text is UTF-8 whatever the locale.
#ifndef PIPEFORMER_FORMATS_LINE_READER_H_
#define PIPEFORMER_FORMATS_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "formats/input.h"

namespace pipeformer {

// What becomes of bytes that are not UTF-8.
enum class InvalidUtf8 {
  kError,    // the line is bad and says so
  kReplace,  // each maximal ill-formed part becomes U+FFFD
};

// A longer line is refused: it is a binary file, or text without LF.
inline constexpr size_t kMaxLineBytes = size_t{1} << 30;

struct Line {
  std::string text;         // valid UTF-8 unless `error` says otherwise
  int64_t number = 0;       // 1 for the first line of the stream
  std::string error;        // empty, or `name:line: what is wrong, what to do`
  size_t num_replaced = 0;  // U+FFFD put in
};

class LineReader {
 public:
  LineReader(std::unique_ptr<Input> input, InvalidUtf8 policy,
             size_t max_line_bytes = kMaxLineBytes);

  // Gives the next line and returns true, or returns false at the end.
  // A line that is not UTF-8 is a record with `error` set, not an exception:
  // the caller knows whether the run can go on.
  // Throws Error: kBadData on a line longer than the limit; as Input::Read.
  bool Next(Line* line);

  // True when `Next` would return at once, waiting at most `timeout_ms`
  // milliseconds for that; 0 does not wait. Throws as `Next`.
  bool WaitForLine(int timeout_ms);

  // The share of a plain file that has been given, 0 to 1, by its bytes; none
  // for other input. For estimates of what is left.
  std::optional<double> ShareGiven() const;

  const std::string& name() const { return input_->name(); }

  // `name:number`, for messages.
  std::string Place(int64_t number) const;

 private:
  bool FindLineEnd();
  void Fill();
  void Take(size_t size, Line* line);

  std::unique_ptr<Input> input_;
  InvalidUtf8 policy_;
  size_t max_line_bytes_;
  std::optional<uint64_t> size_;  // of the input, where it is known
  std::string buffer_;  // buffer_[begin_, end_) is read but not handed over
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t scanned_ = 0;   // no LF in buffer_[begin_, scanned_)
  bool at_end_ = false;  // the input gave its end
  int64_t num_lines_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_LINE_READER_H_
