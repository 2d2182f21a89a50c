#include "formats/spill_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

// A file in `folder` that no name leads to, or -1.
int OpenNameless(const std::string& folder) {
  std::string name = (fs::path(folder) / ".unfinished-XXXXXX").string();
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0) unlink(name.c_str());
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
