#include "tools/module_layout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/base/error.h"
#include "tools/module_masks.h"

namespace pipeformer {
namespace {

std::string MessageOf(const std::vector<int64_t>& shape,
                      const Dimensions& dimensions) {
  try {
    FitShape("x", shape, dimensions);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "fits";
}

TEST(FitShape, TheFirstTensorSetsTheSizesForTheOthers) {
  ModuleLayout layout(BatchAxis::kSecond);
  Dimension width{"E", 8};
  const Dimensions target = layout.OfSequence(Side::kTarget, width);
  EXPECT_EQ(MessageOf({2, 3}, target), "x is [2, 3], wanted [L, N, 8]");
  EXPECT_EQ(MessageOf({0, 3, 8}, target), "x is [0, 3, 8], wanted [L, N, 8]");
  EXPECT_EQ(MessageOf({2, 3, 8}, target), "fits");
  EXPECT_EQ(MessageOf({4, 3, 8}, target), "x is [4, 3, 8], wanted [2, 3, 8]");
  EXPECT_EQ(MessageOf({4, 2, 8}, layout.OfSequence(Side::kSource, width)),
            "x is [4, 2, 8], wanted [S, 3, 8]");
  EXPECT_EQ(MessageOf({5}, layout.OfPadding(Side::kSource)),
            "x is [5], wanted [3, S]");
}

// Rows of a batch of two sentences of three positions: sentence s, position p
// holds 10 s + p.
const std::vector<float> kRows{0, 1, 2, 10, 11, 12};

std::vector<float> RowsOf(ModuleLayout& layout,
                          const std::vector<int64_t>& shape,
                          const std::vector<float>& sequence) {
  Dimension width{"E", 1};
  FitShape("x", shape, layout.OfSequence(Side::kTarget, width));
  std::vector<float> rows(sequence.size());
  const Matrix matrix =
      DenseMatrix(rows.data(), static_cast<int64_t>(rows.size()), 1);
  layout.ToRows(Side::kTarget, sequence, matrix);
  const OwnedTensor back = layout.FromRows(Side::kTarget, matrix);
  EXPECT_EQ(back.shape, shape);
  const auto elements = back.View().Elements<float>();
  EXPECT_EQ(std::vector(elements.begin(), elements.end()), sequence);
  return rows;
}

TEST(ModuleLayout, EveryLayoutHasTheSameRows) {
  ModuleLayout second(BatchAxis::kSecond);
  EXPECT_EQ(RowsOf(second, {3, 2, 1}, {0, 10, 1, 11, 2, 12}), kRows);
  EXPECT_EQ(second.Offsets(Side::kTarget), (std::vector<int32_t>{0, 3, 6}));
  ModuleLayout first(BatchAxis::kFirst);
  EXPECT_EQ(RowsOf(first, {2, 3, 1}, kRows), kRows);
  for (const BatchAxis axis : {BatchAxis::kFirst, BatchAxis::kSecond}) {
    ModuleLayout alone(axis);
    alone.LeaveOutBatch();
    EXPECT_EQ(RowsOf(alone, {3, 1}, {0, 1, 2}), (std::vector<float>{0, 1, 2}));
    EXPECT_EQ(alone.OfPadding(Side::kTarget).size(), 1u);
  }
}

TEST(MaskValues, TrueAndNonZeroHideAndNumbersStay) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const std::vector<float> hidden{kHidden, 0, kHidden};
  const std::vector<uint8_t> bytes{1, 0, 255};
  EXPECT_EQ(MaskValues(ViewOf(std::span(bytes), {3}), "x"), hidden);
  EXPECT_EQ(
      MaskValues({DType::kBool, {3}, std::as_bytes(std::span(bytes))}, "x"),
      hidden);
  const std::vector<double> added{kHidden, 0.5, -2};
  EXPECT_EQ(MaskValues(ViewOf(std::span(added), {3}), "x"),
            (std::vector<float>{kHidden, 0.5, -2}));
}

TEST(MaskValues, RefusesWhatNoScoreCanTake) {
  const std::vector<float> infinite{0, std::numeric_limits<float>::infinity()};
  EXPECT_THROW(MaskValues(ViewOf(std::span(infinite), {2}), "x"), Error);
  const std::vector<float> none{std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(MaskValues(ViewOf(std::span(none), {1}), "x"), Error);
  const std::vector<int64_t> whole{1};
  EXPECT_THROW(MaskValues(ViewOf(std::span(whole), {1}), "x"), Error);
}

}  // namespace
}  // namespace pipeformer
