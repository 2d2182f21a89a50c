#include "tools/support/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace pipeformer {
namespace {

// Empty when the system does not say.
cpu_set_t Cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) CPU_ZERO(&cores);
  return cores;
}

}  // namespace

int64_t NumCores(int64_t num_processes) {
  const cpu_set_t cores = Cores();
  const int64_t share = sysconf(_SC_NPROCESSORS_ONLN) / num_processes;
  int64_t count = CPU_COUNT(&cores);
  if (num_processes > 1) count = std::min(count, share);
  return std::max<int64_t>(1, count);
}

void UseCores(int64_t count) {
  cpu_set_t cores = Cores();
  for (int core = CPU_SETSIZE - 1; core >= 0; --core) {
    if (CPU_COUNT(&cores) <= count) break;
    CPU_CLR(core, &cores);
  }
  // Where it is not allowed, more cores are used; the result is the same.
  sched_setaffinity(0, sizeof(cores), &cores);
}

}  // namespace pipeformer
