// The promise on which batching stands: a row of LinearForward depends, to the
// last bit, on its row of the input alone.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "lib/ops/linear.h"
#include "tests/support/compare.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

struct Widths {
  int64_t in, out;
};

const std::vector<Widths>& SmallWidths() {
  static const std::vector<Widths> widths = [] {
    std::vector<Widths> all;
    for (int64_t in : {1, 3, 6, 36}) {
      for (int64_t out : {1, 4, 8, 36, 100}) {
        all.push_back({in, out});
      }
    }
    return all;
  }();
  return widths;
}

const std::vector<Widths>& LargeWidths() {
  static const std::vector<Widths> widths = {
      {128, 128},  {128, 256},  {256, 128},  {128, 384}, {128, 8000},
      {512, 512},  {512, 2048}, {2048, 512}, {1000, 1},  {1, 1000},
      {512, 1536}, {256, 1024}, {1024, 256}, {512, 3},   {300, 301},
  };
  return widths;
}

constexpr int64_t kMostRows = 600;

// One layer whose rows have been computed one by one.
class Rows {
 public:
  Rows(Widths w, bool packed, Layout layout)
      : src_(TestMatrix::Uniform(kMostRows, w.in, Random(1), 1, layout)),
        weights_(TestMatrix::Uniform(w.out, w.in, Random(2), 1, layout)),
        bias_(TestMatrix::Uniform(1, w.out, Random(3))),
        alone_(kMostRows, w.out),
        layout_(layout) {
    if (packed) packed_ = std::make_unique<PackedWeights>(weights_);
    for (int64_t r = 0; r < kMostRows; ++r) Compute(r, 1, alone_.view().Row(r));
  }

  // Rows [begin, begin + count) together have the bits they have alone.
  testing::AssertionResult Hold(int64_t begin, int64_t count) const {
    TestMatrix dst(count, weights_.view().rows, layout_);
    LinearForward(src_.view().Rows(begin, count), weights_, packed_.get(),
                  bias_.view().data, dst);
    return HasSameBits(dst, alone_.view().Rows(begin, count));
  }

 private:
  void Compute(int64_t row, int64_t count, float* to) {
    LinearForward(src_.view().Rows(row, count), weights_, packed_.get(),
                  bias_.view().data,
                  DenseMatrix(to, count, weights_.view().rows));
  }

  TestMatrix src_, weights_, bias_, alone_;
  std::unique_ptr<PackedWeights> packed_;
  Layout layout_;
};

// How far apart the numbers of rows are that a test tries.
struct Steps {
  int64_t below_64, above;
};

void ExpectLaw(const std::vector<Widths>& widths, bool packed, Layout layout,
               Steps steps) {
  for (const Widths& w : widths) {
    const Rows rows(w, packed, layout);
    for (int64_t count = 1; count <= kMostRows;
         count += count < 64 ? steps.below_64 : steps.above) {
      const int64_t begin = (kMostRows - count) * (count % 3) / 2;
      const auto result = rows.Hold(begin, count);
      EXPECT_TRUE(result) << w.in << " to " << w.out << ", " << count
                          << " rows from " << begin;
      if (!result) break;  // the next widths say more than the next counts
    }
  }
}

TEST(LinearLaw, PackedRowsDoNotDependOnTheirNumberSmall) {
  ExpectLaw(SmallWidths(), true, Layout::kDense, {1, 7});
}

TEST(LinearLaw, PackedRowsDoNotDependOnTheirNumberLarge) {
  ExpectLaw(LargeWidths(), true, Layout::kDense, {3, 127});
}

TEST(LinearLaw, PackedRowsOfASliceDoNotDependOnTheirNumber) {
  ExpectLaw({{4, 6}, {36, 100}, {128, 384}}, true, Layout::kSlice, {2, 61});
}

// A slice of a source, as a part of a wider projection.
TEST(LinearLaw, StridesDoNotChangeTheBits) {
  const TestMatrix dense = TestMatrix::Uniform(70, 128, Random(1));
  const TestMatrix slice =
      TestMatrix::Uniform(70, 128, Random(1), 1, Layout::kSlice);
  const TestMatrix weights = TestMatrix::Uniform(384, 128, Random(2));
  const PackedWeights packed(weights);
  for (const PackedWeights* form :
       {static_cast<const PackedWeights*>(nullptr), &packed}) {
    for (const int64_t count : {1, 5, 70}) {
      TestMatrix expected(count, 384), dst(count, 384, Layout::kSlice);
      LinearForward(dense.view().Rows(0, count), weights, form, nullptr,
                    expected);
      LinearForward(slice.view().Rows(0, count), weights, form, nullptr, dst);
      EXPECT_TRUE(HasSameBits(dst, expected)) << count;
      EXPECT_TRUE(dst.GuardIsIntact());
    }
  }
}

TEST(LinearLaw, PlainRowsDoNotDependOnTheirNumberSmall) {
  ExpectLaw(SmallWidths(), false, Layout::kDense, {1, 7});
}

TEST(LinearLaw, PlainRowsDoNotDependOnTheirNumberLarge) {
  ExpectLaw(LargeWidths(), false, Layout::kDense, {3, 127});
}

TEST(LinearLaw, EveryThreadComputesTheSameBits) {
  for (const Widths& w : {Widths{2048, 512}, {128, 8000}, {6, 3}}) {
    for (const int64_t count : {1, 7, 200}) {
      const TestMatrix src = TestMatrix::Uniform(count, w.in, Random(1));
      const TestMatrix weights = TestMatrix::Uniform(w.out, w.in, Random(2));
      const PackedWeights packed(weights);
      TestMatrix first(count, w.out);
      LinearForward(src, weights, &packed, nullptr, first);
      TestMatrix other(count, w.out);  // by a thread's very first product
      std::thread([&] {
        LinearForward(src, weights, &packed, nullptr, other);
      }).join();
      EXPECT_TRUE(HasSameBits(other, first));
    }
  }
}

}  // namespace
}  // namespace pipeformer
