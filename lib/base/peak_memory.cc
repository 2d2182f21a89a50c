#include "lib/base/peak_memory.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace pipeformer {
namespace {

// What the kernel says of this process.
std::string Status() {
  std::string text(1 << 14, '\0');
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? 0 : read(fd, text.data(), text.size());
  if (fd >= 0) close(fd);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace

int64_t PeakMemoryBytes() {
  // What getrusage says counts the program that started this one, too.
  const std::string status = Status();
  const std::string key = "VmHWM:";
  if (const size_t at = status.find(key); at != std::string::npos) {
    return std::strtoll(status.c_str() + at + key.size(), nullptr, 10) * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace pipeformer
