#include "formats/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

// A file in `folder` that no name leads to, or -1. Where the file system makes
// none without a name, it has for a moment that of an unfinished output.
int OpenNameless(const std::string& folder) {
  constexpr int kMode = 0600;
  int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  if (fd >= 0) return fd;
  do {
    const std::string name = (fs::path(folder) / NextUnfinishedName()).string();
    fd = open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, kMode);
    if (fd >= 0) unlink(name.c_str());
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

// Leaves in `*folder` where it was made.
int OpenBeside(const std::string& neighbour, std::string* folder) {
  *folder = fs::path(neighbour).parent_path().string();
  if (folder->empty()) *folder = ".";
  int fd = OpenNameless(*folder);
  if (fd >= 0) return fd;
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) {
    *folder = temporary.string();
    fd = OpenNameless(*folder);
  }
  if (fd < 0) {
    throw Error(
        ExitCode::kCannotCreate,
        *folder + ": cannot create a temporary file: " + std::strerror(errno));
  }
  return fd;
}

}  // namespace

SpillFile::SpillFile(const std::string& neighbour)
    : fd_(OpenBeside(neighbour, &folder_)),
      buffer_(fd_, folder_ + ": a temporary file"),
      stream_(&buffer_) {
  stream_.exceptions(std::ios::badbit);
}

SpillFile::~SpillFile() { close(fd_); }

void SpillFile::Write(std::span<const std::byte> bytes) {
  stream_.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
}

FileBytes SpillFile::Map() {
  stream_.flush();
  return MapDescriptor(fd_, folder_ + ": a temporary file");
}

}  // namespace pipeformer
