#include "lib/base/peak_memory.h"

#include <sys/resource.h>

namespace pipeformer {

int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace pipeformer
