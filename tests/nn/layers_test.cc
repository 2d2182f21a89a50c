// Masks through whole layers: what is hidden is as good as absent.
#include "lib/nn/layers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "lib/base/random.h"
#include "tests/nn/golden.h"
#include "tests/nn/test_network.h"
#include "tests/support/compare.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

using reference::DoubleMatrix;

constexpr int32_t kOffsets[] = {0, 6};
constexpr int64_t kRows = 6;

// A mask [kRows, keys] that hides where `hides` says so.
std::vector<float> MaskWhere(
    int64_t keys, const std::function<bool(int64_t, int64_t)>& hides) {
  std::vector<float> mask;
  for (int64_t t = 0; t < kRows; ++t) {
    for (int64_t j = 0; j < keys; ++j) {
      mask.push_back(hides(t, j) ? -HUGE_VALF : 0);
    }
  }
  return mask;
}

class MaskedLayers : public testing::TestWithParam<NormPlace> {
 protected:
  MaskedLayers() {
    config_.norm = GetParam();
    x_ = TestMatrix::Uniform(kRows, config_.d_model, Random(1)).view();
  }

  // Values that do not depend on the mask of the layer.
  static void Fill(ParameterTable& table) {
    table.Allocate();
    table.Initialize(2);
  }

  Variable Input(Arena& arena, const DoubleMatrix& values) const {
    const Matrix m = arena.NewMatrix(values.rows, values.cols);
    std::copy(values.values.begin(), values.values.end(), m.data);
    return {m, {}};
  }

  TransformerConfig config_ = SmallConfig();
  DoubleMatrix x_;
  Arena arena_;
  Context context_{.arena = arena_};
};

TEST_P(MaskedLayers, AMaskOfTheFutureMakesAnEncoderCausal) {
  ParameterTable free_table, causal_table;
  const EncoderLayer free(free_table, "", {.network = config_}, 0);
  const EncoderLayer causal(causal_table, "",
                            {.network = config_, .mask = Mask::kCausal}, 0);
  Fill(free_table);
  Fill(causal_table);
  const auto values =
      MaskWhere(kRows, [](int64_t t, int64_t j) { return j > t; });
  const SentenceMask mask{.values = values.data()};
  const Variable x = Input(arena_, x_);
  const DoubleMatrix expected = causal(context_, x, kOffsets).value;
  EXPECT_TRUE(
      IsClose(free(context_, x, kOffsets, {&mask, 1}).value, expected, 1e-6));
  EXPECT_FALSE(IsClose(free(context_, x, kOffsets).value, expected, 1e-2));
}

TEST_P(MaskedLayers, HiddenMemoryIsAsGoodAsAbsent) {
  ParameterTable table;
  const DecoderLayer layer(table, "",
                           {.network = config_, .mask = Mask::kCausal}, 0);
  Fill(table);
  DoubleMatrix memory =
      TestMatrix::Uniform(5, config_.d_model, Random(3)).view();
  const auto values = MaskWhere(5, [](int64_t, int64_t j) { return j >= 3; });
  const SentenceMask mask{.values = values.data()};
  const Variable x = Input(arena_, x_), all = Input(arena_, memory);
  const int32_t five[] = {0, 5}, three[] = {0, 3};
  const DoubleMatrix masked = layer(context_, x,
                                    {.offsets = kOffsets,
                                     .memory = all,
                                     .memory_offsets = five,
                                     .memory_masks = {&mask, 1}})
                                  .value;
  const Variable beginning{all.value.Rows(0, 3), {}};
  EXPECT_TRUE(IsClose(
      layer(context_, x,
            {.offsets = kOffsets, .memory = beginning, .memory_offsets = three})
          .value,
      masked, 1e-6));
}

// A graph of two parts: what happens in one does not reach the other.
TEST_P(MaskedLayers, ADecoderSeesItsNeighboursInAGraph) {
  config_.type = ModelType::kLanguageModel;
  ParameterTable table;
  const DecoderLayer layer(table, "", {.network = config_}, 0);
  Fill(table);
  const auto values =
      MaskWhere(kRows, [](int64_t t, int64_t j) { return t % 2 != j % 2; });
  const SentenceMask mask{.values = values.data()};
  const auto run = [&](const DoubleMatrix& x) {
    const Matrix y = layer(context_, Input(arena_, x),
                           {.offsets = kOffsets, .masks = {&mask, 1}})
                         .value;
    return DoubleMatrix(y);
  };
  const DoubleMatrix before = run(x_);
  for (int64_t c = 0; c < x_.cols; ++c) x_(4, c) += 1;
  const DoubleMatrix after = run(x_);
  for (int64_t t = 0; t < kRows; ++t) {
    bool same = true;
    for (int64_t c = 0; c < x_.cols; ++c) same &= before(t, c) == after(t, c);
    EXPECT_EQ(same, t % 2 == 1) << "row " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, MaskedLayers,
                         testing::Values(NormPlace::kPost, NormPlace::kPre));

}  // namespace
}  // namespace pipeformer
