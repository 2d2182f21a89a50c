// An output file that appears whole or not at all. Bytes go to a temporary
// file in the same folder; `Commit` makes them durable and moves them to the
// final name in one step. What stands there before stays until then, and
// stays for good if anything fails.
#ifndef PIPEFORMER_FORMATS_OUTPUT_FILE_H_
#define PIPEFORMER_FORMATS_OUTPUT_FILE_H_

#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

namespace pipeformer {

// A stream buffer over a descriptor whose errors are Errors: a full disk
// throws kInputOutput with the path and the system's reason.
class DescriptorBuffer : public std::streambuf {
 public:
  // Requires: `fd` stays open for as long as this buffer is written to.
  DescriptorBuffer(int fd, std::string path);

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  int fd_;
  std::string path_;
  std::vector<char> buffer_;
};

// `.unfinished-PID-N`, another N each time: what a temporary file is called.
// Short, so that any lawful final name can have one beside it.
std::string NextUnfinishedName();

// Removes the temporary files in the folder of `path` whose program was killed
// before it could do so: those that nobody holds open. Never throws; what
// cannot be removed stays.
void RemoveUnfinished(const std::string& path);

// Use: OutputFile file(path); write to file.stream(); file.Commit().
class OutputFile {
 public:
  // Creates the temporary file. A path that is no regular file (/dev/stdout,
  // /dev/null, a FIFO, `>(command)`) is written directly instead. A symbolic
  // link is followed. `-` has no meaning here; callers handle it.
  // Throws kCannotCreate with the path and the system's reason.
  explicit OutputFile(const std::string& path);

  // Without Commit, the temporary file is removed.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The stream to write to, numbers in the classic locale. A failed write
  // throws kInputOutput from the stream operation itself, so no caller need
  // test its state.
  std::ostream& stream() { return stream_; }

  // Flushes, fsyncs, renames, and fsyncs the folder. Call once, last.
  // Throws kInputOutput; the old file is then untouched.
  void Commit();

 private:
  // Where the bytes go until Commit. `temporary` is empty for what is written
  // directly.
  struct Target {
    int fd;
    std::string path;
    std::string temporary;
  };

  static Target Open(const std::string& path);
  static Target OpenTemporary(const std::string& path);

  Target target_;
  DescriptorBuffer buffer_;
  std::ostream stream_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_OUTPUT_FILE_H_
