#include "tests/support/test_matrix.h"

#include <algorithm>

namespace pipeformer {
namespace {

constexpr float kGuard = 12345.5f;
constexpr int64_t kLeft = 3, kRight = 2;  // odd, so that rows are unaligned

}  // namespace

TestMatrix::TestMatrix(int64_t rows, int64_t cols, Layout layout) {
  const bool slice = layout == Layout::kSlice;
  const int64_t stride = slice ? cols + kLeft + kRight : cols;
  memory_.assign(static_cast<size_t>(rows * stride), slice ? kGuard : 0.0f);
  view_ = {memory_.data() + (slice && rows > 0 ? kLeft : 0), rows, cols,
           stride};
  for (int64_t r = 0; r < rows; ++r) std::fill_n(view_.Row(r), cols, 0.0f);
}

TestMatrix TestMatrix::Uniform(int64_t rows, int64_t cols, Random random,
                               float range, Layout layout) {
  TestMatrix m(rows, cols, layout);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      m(r, c) = range * static_cast<float>(2 * random.Uniform() - 1);
    }
  }
  return m;
}

bool TestMatrix::GuardIsIntact() const {
  if (view_.stride == view_.cols) return true;
  for (size_t i = 0; i < memory_.size(); ++i) {
    const int64_t col = static_cast<int64_t>(i) % view_.stride - kLeft;
    const bool outside = col < 0 || col >= view_.cols;
    if (outside && memory_[i] != kGuard) return false;
  }
  return true;
}

TestMatrix CopyOf(const TestMatrix& other) {
  const Matrix from = other.view();
  TestMatrix copy(from.rows, from.cols,
                  from.stride == from.cols ? Layout::kDense : Layout::kSlice);
  for (int64_t r = 0; r < from.rows; ++r) {
    std::copy_n(from.Row(r), from.cols, copy.view().Row(r));
  }
  return copy;
}

}  // namespace pipeformer
