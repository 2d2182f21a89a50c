#include "tools/support/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "formats/output_file.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

class StreamOutput : public Output {
 public:
  StreamOutput(const std::string& name, int fd)
      : fd_(fd), buffer_(fd, name), stream_(&buffer_) {
    stream_.exceptions(std::ios::badbit | std::ios::failbit);
  }
  StreamOutput(const StreamOutput&) = delete;
  ~StreamOutput() override {
    if (fd_ > STDERR_FILENO) close(fd_);
  }

  std::ostream& stream() override { return stream_; }
  void Commit() override { stream_.flush(); }

 private:
  int fd_;
  DescriptorBuffer buffer_;
  std::ostream stream_;
};

class FileOutput : public Output {
 public:
  explicit FileOutput(const std::string& path) : file_(path) {}

  std::ostream& stream() override { return file_.stream(); }
  void Commit() override { file_.Commit(); }

 private:
  OutputFile file_;
};

}  // namespace

void Output::Write(std::string_view bytes) {
  stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream().flush();
}

std::unique_ptr<Output> OpenOutput(const std::string& path) {
  if (path.empty())
    ThrowUsage("--output is empty; name a file, or - for stdout");
  if (path == "-") {
    return std::make_unique<StreamOutput>("stdout", STDOUT_FILENO);
  }
  return std::make_unique<FileOutput>(path);
}

std::unique_ptr<Output> OpenAppendedOutput(const std::string& path) {
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    throw Error(ExitCode::kCannotCreate,
                path + ": cannot create: " + std::strerror(errno) +
                    "; check the folder and its permissions");
  }
  return std::make_unique<StreamOutput>(path, fd);
}

void WriteLine(const std::string& line) {
  // On a terminal a progress line may stand where the message goes.
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  WriteMessage((terminal ? "\r\033[K" : "") + line + "\n");
}

void WriteMessage(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace pipeformer
