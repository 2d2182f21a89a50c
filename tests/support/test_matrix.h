// A matrix for tests that owns its floats and stands inside guarded memory, so
// that a kernel which writes outside its view is found out.
#ifndef PIPEFORMER_TESTS_SUPPORT_TEST_MATRIX_H_
#define PIPEFORMER_TESTS_SUPPORT_TEST_MATRIX_H_

#include <cstdint>
#include <vector>

#include "lib/base/random.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// kDense  rows follow each other
// kSlice  columns in the middle of a wider matrix
enum class Layout { kDense, kSlice };

class TestMatrix {
 public:
  // Zeros, [rows, cols].
  TestMatrix(int64_t rows, int64_t cols, Layout layout = Layout::kDense);

  // Uniform in [-range, range).
  static TestMatrix Uniform(int64_t rows, int64_t cols, Random random,
                            float range = 1, Layout layout = Layout::kDense);

  Matrix view() const { return view_; }
  operator Matrix() const { return view_; }  // NOLINT: it is one
  float& operator()(int64_t row, int64_t col) { return view_.Row(row)[col]; }

  // False when anything outside the view has been written.
  bool GuardIsIntact() const;

  TestMatrix(TestMatrix&&) = default;
  TestMatrix& operator=(TestMatrix&&) = default;

 private:
  std::vector<float> memory_;
  Matrix view_;
};

// A copy with its own memory and the same layout.
TestMatrix CopyOf(const TestMatrix& other);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SUPPORT_TEST_MATRIX_H_
