#include "lib/ops/embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int64_t kWidths[] = {1, 2, 3, 7, 15, 16, 17, 33, 64, 100};
const std::vector<int32_t> kIds = {3, 0, 3, 8, 1, 3, 0};
constexpr int64_t kRows = 7, kVocabulary = 9;

TEST(Embedding, ForwardEqualsItsTwin) {
  for (const int64_t width : kWidths) {
    for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
      const auto table =
          TestMatrix::Uniform(kVocabulary, width, Random(1), 1, layout);
      const float scale = std::sqrt(static_cast<float>(width));
      TestMatrix dst(kRows, width, layout);
      EmbeddingForward(kIds, table, scale, dst);
      EXPECT_TRUE(
          IsClose(dst, reference::Embedding(kIds, table.view(), scale), 1e-6));
      EXPECT_TRUE(dst.GuardIsIntact());
    }
  }
}

TEST(Embedding, PositionsAreAdded) {
  const auto positions = TestMatrix::Uniform(kVocabulary, 17, Random(1));
  const auto before =
      TestMatrix::Uniform(kRows, 17, Random(2), 1, Layout::kSlice);
  auto dst = CopyOf(before);
  AddPositions(kIds, positions, dst);
  DoubleMatrix expected = reference::Gather(positions.view(), kIds);
  const DoubleMatrix start = before.view();
  for (size_t i = 0; i < start.values.size(); ++i) {
    expected.values[i] += start.values[i];
  }
  EXPECT_TRUE(IsClose(dst, expected, 1e-6));
  EXPECT_TRUE(dst.GuardIsIntact());
}

TEST(Embedding, AnIdThatOccursTwiceGathersBothGradients) {
  for (const int64_t width : kWidths) {
    const auto table = TestMatrix::Uniform(kVocabulary, width, Random(1));
    const auto d_dst =
        TestMatrix::Uniform(kRows, width, Random(2), 1, Layout::kSlice);
    const auto before =
        TestMatrix::Uniform(kVocabulary, width, Random(3), 1, Layout::kSlice);
    auto d_table = CopyOf(before);
    EmbeddingBackward(kIds, 1.5f, d_dst, d_table);
    EXPECT_TRUE(d_table.GuardIsIntact());
    const auto loss = [&](const DoubleMatrix& x) {
      return reference::Dot(reference::Embedding(kIds, x, 1.5), d_dst.view());
    };
    EXPECT_TRUE(IsGradient({loss, table.view(), before.view(), d_table.view()},
                           Random(4)));
  }
}

TEST(SinusoidalPositions, EqualTheirTwin) {
  for (const int64_t width : kWidths) {
    for (const Layout layout : {Layout::kDense, Layout::kSlice}) {
      TestMatrix dst(1500, width, layout);
      SinusoidalPositions(dst);
      EXPECT_TRUE(IsClose(dst, reference::Positions(1500, width), 1e-6));
      EXPECT_TRUE(dst.GuardIsIntact());
    }
  }
}

TEST(SinusoidalPositions, ThePaperSFirstRows) {
  TestMatrix dst(2, 4);
  SinusoidalPositions(dst);
  const float first[] = {0, 1, 0, 1};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(dst(0, i), first[i]);
  EXPECT_FLOAT_EQ(dst(1, 0), std::sin(1.0f));
  EXPECT_FLOAT_EQ(dst(1, 1), std::cos(1.0f));
  EXPECT_FLOAT_EQ(dst(1, 2), std::sin(0.01f));
}

}  // namespace
}  // namespace pipeformer
