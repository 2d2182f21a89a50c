// How much memory this process needs.
#ifndef PIPEFORMER_LIB_BASE_PEAK_MEMORY_H_
#define PIPEFORMER_LIB_BASE_PEAK_MEMORY_H_

#include <cstdint>

namespace pipeformer {

// The most memory that this process has held so far, mapped files included.
int64_t PeakMemoryBytes();

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_PEAK_MEMORY_H_
