#include "tools/attention_view.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// Two encoder and three decoder layers of two heads. The weights of a matrix
// [2, 3] name it: the first is 100 kind + 10 layer + head.
std::vector<AttentionMatrix> All() {
  std::vector<AttentionMatrix> all;
  for (const AttentionKind kind :
       {AttentionKind::kEncoder, AttentionKind::kDecoder,
        AttentionKind::kCross}) {
    const int layers = kind == AttentionKind::kEncoder ? 2 : 3;
    for (int layer = 0; layer < layers; ++layer) {
      for (int head = 0; head < 2; ++head) {
        const auto name = static_cast<float>(100 * static_cast<int>(kind) +
                                             10 * layer + head);
        all.push_back({.kind = kind,
                       .layer = layer,
                       .head = head,
                       .queries = 2,
                       .keys = 3,
                       .weights = {name, 1, 2, 3, 4, 5}});
      }
    }
  }
  return all;
}

// What is selected, as the first weights.
std::vector<float> Names(const AttentionSelection& selection) {
  std::vector<float> names;
  for (const ShownAttention& m : Select(All(), selection, 2, 3)) {
    names.push_back(m.weights[0]);
  }
  return names;
}

using Floats = std::vector<float>;

TEST(Select, GivesAllInTheirOrder) {
  EXPECT_EQ(Names({}), (Floats{0, 1, 10, 11, 100, 101, 110, 111, 120, 121, 200,
                               201, 210, 211, 220, 221}));
}

TEST(Select, PicksKindsLayersAndHeads) {
  EXPECT_EQ(Names({.kinds = {"cross"}}),
            (Floats{200, 201, 210, 211, 220, 221}));
  EXPECT_EQ(Names({.kinds = {"cross", "encoder"}, .layers = {1}}),
            (Floats{10, 11, 210, 211}));
  EXPECT_EQ(Names({.layers = {0}, .heads = {1}}), (Floats{1, 101, 201}));
}

TEST(Select, NegativeLayersCountFromTheTopOfTheirStack) {
  EXPECT_EQ(Names({.layers = {-1}, .heads = {0}}), (Floats{10, 120, 220}));
  EXPECT_EQ(Names({.layers = {-3}, .heads = {0}}), (Floats{100, 200}));
  EXPECT_EQ(Names({.kinds = {"decoder"}, .layers = {-1, 0}, .heads = {-1}}),
            (Floats{101, 121}));
}

TEST(Select, AveragesOverHeads) {
  const auto shown =
      Select(All(), {.kinds = {"cross"}, .average = "heads"}, 2, 3);
  ASSERT_EQ(shown.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(shown[i].layer, static_cast<int64_t>(i));
    EXPECT_EQ(shown[i].head, -1);
    EXPECT_EQ(shown[i].weights,
              (Floats{200.5f + 10 * static_cast<float>(i), 1, 2, 3, 4, 5}));
  }
}

TEST(Select, AveragesOverLayers) {
  const auto shown = Select(
      All(), {.kinds = {"decoder", "encoder"}, .average = "layers"}, 2, 3);
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[0].weights[0], 5);
  EXPECT_EQ(shown[1].weights[0], 6);
  EXPECT_EQ(shown[2].weights[0], 110);
  EXPECT_EQ(shown[3].weights[0], 111);
  EXPECT_EQ(shown[3].layer, -1);
  EXPECT_EQ(shown[3].head, 1);
}

TEST(Select, AveragesOverBothButNeverOverKinds) {
  const auto shown = Select(All(), {.average = "both"}, 2, 3);
  ASSERT_EQ(shown.size(), 3u);
  EXPECT_EQ(shown[0].weights[0], 5.5f);
  EXPECT_EQ(shown[1].weights[0], 110.5f);
  EXPECT_EQ(shown[2].weights[0], 210.5f);
}

TEST(Select, AveragesOnlyWhatIsSelected) {
  const auto shown = Select(
      All(), {.kinds = {"cross"}, .layers = {0, 2}, .average = "both"}, 2, 3);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].weights[0], 210.5f);
}

TEST(Select, KeepsTheLargestOfEachRow) {
  const std::vector<AttentionMatrix> one = {
      {.kind = AttentionKind::kCross,
       .layer = 0,
       .head = 0,
       .queries = 2,
       .keys = 4,
       .weights = {0.1f, 0.4f, 0.2f, 0.3f, 0.25f, 0.25f, 0.25f, 0.25f}}};
  const auto top = [&](int64_t k) {
    return Select(one, {.top_k = k}, 1, 1)[0].weights;
  };
  EXPECT_EQ(top(1), (Floats{0, 0.4f, 0, 0, 0.25f, 0, 0, 0}));
  EXPECT_EQ(top(2), (Floats{0, 0.4f, 0, 0.3f, 0.25f, 0.25f, 0, 0}));
  EXPECT_EQ(top(4), one[0].weights);
  EXPECT_EQ(top(9), one[0].weights);
  EXPECT_EQ(top(0), one[0].weights);
}

std::string Refusal(const AttentionSelection& selection) {
  try {
    CheckSelection(selection, 3, 2);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(CheckSelection, RefusesWhatTheModelDoesNotHave) {
  EXPECT_EQ(Refusal({.kinds = {"encoder", "decoder", "cross"},
                     .layers = {0, 2, -1, -3},
                     .heads = {0, 1}}),
            "");
  EXPECT_NE(Refusal({.kinds = {"self"}}).find("'self'"), std::string::npos);
  EXPECT_NE(Refusal({.layers = {3}}).find("--layer is 3"), std::string::npos);
  EXPECT_NE(Refusal({.layers = {-4}}).find("--layer is -4"), std::string::npos);
  EXPECT_NE(Refusal({.heads = {2}}).find("0 to 1"), std::string::npos);
}

}  // namespace
}  // namespace pipeformer
