// A bump allocator: everything one training step or one inference needs, freed
// at once by rewinding. Memory is kept for the next step, so that the steady
// state allocates nothing.
#ifndef PIPEFORMER_LIB_TENSOR_ARENA_H_
#define PIPEFORMER_LIB_TENSOR_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/tensor/matrix.h"

namespace pipeformer {

// One thread uses an arena at a time. Blocks are aligned to 64 bytes and are
// not initialised.
class Arena {
 public:
  // A point to rewind to.
  struct Mark {
    size_t chunk = 0;
    size_t used = 0;
  };

  // `bytes` of memory that live until a rewind to an earlier mark.
  // Throws std::bad_alloc when the machine has none left.
  void* Bytes(size_t bytes);

  // `count` objects of a trivial type T.
  template <class T>
  T* Array(int64_t count) {
    return static_cast<T*>(Bytes(static_cast<size_t>(count) * sizeof(T)));
  }

  // An uninitialised dense matrix, [rows, cols].
  Matrix NewMatrix(int64_t rows, int64_t cols) {
    return DenseMatrix(Array<float>(rows * cols), rows, cols);
  }

  Mark mark() const { return mark_; }

  // Frees everything allocated since `mark`.
  void Rewind(Mark mark) { mark_ = mark; }

  // Bytes held from the system.
  size_t capacity() const;

 private:
  struct Chunk {
    struct Free {
      void operator()(std::byte* p) const;
    };
    std::unique_ptr<std::byte, Free> data;
    size_t size = 0;
  };

  std::vector<Chunk> chunks_;
  Mark mark_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TENSOR_ARENA_H_
