#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

[[noreturn]] void Fail(ExitCode code, const std::string& path,
                       const std::string& what) {
  throw Error(code, path + ": " + what + ": " + std::strerror(errno));
}

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) Fail(ExitCode::kInputMissing, path, "cannot open");
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

FileBytes ReadToEnd(int fd, const std::string& path) {
  constexpr size_t kChunkBytes = 1 << 20;
  auto buffer = std::make_shared<std::vector<std::byte>>();
  size_t used = 0;
  while (true) {
    if (buffer->size() < used + kChunkBytes) {
      buffer->resize(2 * used + kChunkBytes);
    }
    const ssize_t got = read(fd, buffer->data() + used, buffer->size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) Fail(ExitCode::kInputOutput, path, "cannot read");
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  return {.bytes = std::span(buffer->data(), used), .owner = buffer};
}

}  // namespace

FileBytes MapFile(const std::string& path) {
  return MapDescriptor(Descriptor(path).get(), path);
}

FileBytes MapDescriptor(int fd, const std::string& path) {
  struct stat facts;
  if (fstat(fd, &facts) != 0) {
    Fail(ExitCode::kInputOutput, path, "cannot read");
  }
  const auto size = static_cast<size_t>(facts.st_size);
  // Files of /proc are regular and report no size.
  if (!S_ISREG(facts.st_mode) || size == 0) {
    return ReadToEnd(fd, path);
  }
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) Fail(ExitCode::kInputOutput, path, "cannot map");
  std::shared_ptr<const void> owner(address, [size](const void* mapped) {
    munmap(const_cast<void*>(mapped), size);
  });
  return {.bytes = std::span(static_cast<const std::byte*>(address), size),
          .owner = owner,
          .is_mapped = true};
}

void ForgetPages(const FileBytes& file) {
  if (!file.is_mapped) return;
  madvise(const_cast<std::byte*>(file.bytes.data()), file.bytes.size(),
          MADV_DONTNEED);
}

}  // namespace pipeformer
