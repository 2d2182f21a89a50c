// The cores this process may run on.
#ifndef PIPEFORMER_TOOLS_SUPPORT_CORES_H_
#define PIPEFORMER_TOOLS_SUPPORT_CORES_H_

#include <cstdint>

namespace pipeformer {

// How many there are for each of `num_processes` that share this machine, at
// least 1. A process that is bound to some cores keeps to these.
int64_t NumCores(int64_t num_processes = 1);

// Leaves at most `count` of them, for libraries whose own number of threads
// has to stay fixed because their result depends on it.
void UseCores(int64_t count);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_CORES_H_
