// Where results go: standard output, or a file that appears whole or not at
// all.
#ifndef PIPEFORMER_TOOLS_SUPPORT_OUTPUT_H_
#define PIPEFORMER_TOOLS_SUPPORT_OUTPUT_H_

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace pipeformer {

class Output {
 public:
  virtual ~Output() = default;

  // For large results and for writers that take a stream. Buffered; a failed
  // write throws Error (kInputOutput) from the operation itself.
  virtual std::ostream& stream() = 0;

  // Writes `bytes` and all before them at once: nothing is held back. A reader
  // that has gone away ends the program by SIGPIPE. Throws as `stream`.
  void Write(std::string_view bytes);

  // The end of a good run: flushes, and gives a file its name. Without it no
  // file is left behind. Throws Error (kInputOutput, kCannotCreate).
  virtual void Commit() = 0;
};

// `path`, or standard output for `-`.
// Throws Error (kCannotCreate) when a file cannot be created there.
std::unique_ptr<Output> OpenOutput(const std::string& path);

// A file written to from the start, at its end, for logs. `-` is a file name
// here. Throws Error (kCannotCreate).
std::unique_ptr<Output> OpenAppendedOutput(const std::string& path);

// `text` to standard error as one piece; failure is ignored, as there is
// nowhere left to report it.
void WriteMessage(std::string_view text);

// The same for a line, without its LF, in place of a progress line.
void WriteLine(const std::string& line);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_OUTPUT_H_
