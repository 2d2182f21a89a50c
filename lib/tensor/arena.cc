#include "lib/tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace pipeformer {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSmallestChunk = size_t{4} << 20;
constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

void Arena::Chunk::Free::operator()(std::byte* p) const {
  ::operator delete (p, std::align_val_t{kHugePage});
}

void* Arena::Bytes(size_t bytes) {
  bytes = RoundUp(bytes);
  while (mark_.chunk < chunks_.size()) {
    Chunk& chunk = chunks_[mark_.chunk];
    if (mark_.used + bytes <= chunk.size) {
      std::byte* p = chunk.data.get() + mark_.used;
      mark_.used += bytes;
      return p;
    }
    mark_ = {mark_.chunk + 1, 0};
  }
  // Each new chunk doubles what is held, so there are few of them.
  const size_t size = std::max({bytes, kSmallestChunk, capacity()});
  Chunk chunk;
  chunk.data.reset(static_cast<std::byte*>(
      ::operator new (size, std::align_val_t{kHugePage})));
  madvise(chunk.data.get(), size, MADV_HUGEPAGE);
  chunk.size = size;
  chunks_.push_back(std::move(chunk));
  mark_ = {chunks_.size() - 1, bytes};
  return chunks_.back().data.get();
}

size_t Arena::capacity() const {
  size_t sum = 0;
  for (const Chunk& chunk : chunks_) sum += chunk.size;
  return sum;
}

}  // namespace pipeformer
