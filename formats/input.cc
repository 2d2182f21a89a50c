#include "formats/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/iostreams/device/file_descriptor.hpp>
#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#include <cerrno>
#include <cstring>

#include "formats/input_zstd.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace io = boost::iostreams;

[[noreturn]] void ThrowReadFailed(const std::string& name, int error) {
  throw Error(ExitCode::kInputOutput,
              name + ": cannot read: " + std::strerror(error) +
                  "; check the disk or connection");
}

// A plain file, pipe or terminal.
class PlainInput : public Input {
 public:
  PlainInput(std::string name, int fd, bool owns_fd)
      : Input(std::move(name)), fd_(fd), owns_fd_(owns_fd) {}
  PlainInput(const PlainInput&) = delete;
  ~PlainInput() override {
    if (owns_fd_) close(fd_);
  }

  size_t Read(std::span<char> dst) override {
    while (true) {
      const ssize_t count = read(fd_, dst.data(), dst.size());
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EAGAIN) {
        Wait(-1);  // Someone made the pipe non-blocking; wait ourselves.
      } else if (errno != EINTR) {
        ThrowReadFailed(name(), errno);
      }
    }
  }

  bool Wait(int timeout_ms) override {
    pollfd request = {fd_, POLLIN, 0};
    return poll(&request, 1, timeout_ms) > 0;
  }

  std::optional<uint64_t> BytesLeft() const override {
    struct stat status = {};
    if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    const off_t place = lseek(fd_, 0, SEEK_CUR);
    if (place < 0) return {};
    return static_cast<uint64_t>(std::max<off_t>(status.st_size - place, 0));
  }

 private:
  int fd_;
  bool owns_fd_;
};

bool EndsWith(const std::string& path, const char* suffix) {
  return path.ends_with(suffix);
}

bool IsCompressed(const std::string& path) {
  return EndsWith(path, ".gz") || EndsWith(path, ".bz2") ||
         EndsWith(path, ".xz") || EndsWith(path, ".zst");
}

class CompressedInput : public Input {
 public:
  CompressedInput(const std::string& path, int fd) : Input(path) {
    if (EndsWith(path, ".gz")) chain_.push(io::gzip_decompressor());
    if (EndsWith(path, ".bz2")) chain_.push(io::bzip2_decompressor());
    if (EndsWith(path, ".xz")) chain_.push(io::lzma_decompressor());
    if (EndsWith(path, ".zst")) {
      chain_.push(io::zstd_decompressor());
      chain_.push(ZstdFrameFilter(path));
    }
    chain_.push(io::file_descriptor_source(fd, io::close_handle));
  }

  size_t Read(std::span<char> dst) override {
    try {
      const auto count =
          chain_.sgetn(dst.data(), static_cast<std::streamsize>(dst.size()));
      return count > 0 ? static_cast<size_t>(count) : 0;
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      ThrowBadData(name() +
                   ": the compressed data is damaged or ends too early; "
                   "fetch or compress the file again");
    }
  }

  bool Wait(int) override { return true; }

 private:
  io::filtering_istreambuf chain_;
};

}  // namespace

std::unique_ptr<Input> OpenInput(const std::string& path) {
  if (path == "-") {
    return std::make_unique<PlainInput>("stdin", STDIN_FILENO, false);
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw Error(ExitCode::kInputMissing,
                path + ": cannot open for reading: " + std::strerror(errno) +
                    "; check the name and the permissions");
  }
  struct stat status = {};
  if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(fd);
    throw Error(ExitCode::kInputMissing,
                path + ": is a directory; name a file in it");
  }
  if (IsCompressed(path)) return std::make_unique<CompressedInput>(path, fd);
  return std::make_unique<PlainInput>(path, fd, true);
}

std::string ReadAll(Input& input, size_t max_bytes) {
  std::string result;
  size_t used = 0;
  while (true) {
    result.resize(used + std::max<size_t>(used, 1 << 16));
    const size_t count = input.Read(std::span(result).subspan(used));
    used += count;
    if (count == 0) break;
    if (used > max_bytes) {
      ThrowBadData(input.name() + ": longer than the limit of " +
                   std::to_string(max_bytes) +
                   " bytes; check that it is the right file");
    }
  }
  result.resize(used);
  return result;
}

}  // namespace pipeformer
