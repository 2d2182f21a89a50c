// Tape, context, scratch memory and ragged batches.
#include "lib/nn/context.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "lib/nn/ragged.h"

namespace pipeformer {
namespace {

TEST(Tape, RunsBackwardsOnceAndForgets) {
  Arena arena;
  Tape tape;
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    tape.Record(Op::kOther, arena, [&order, i] { order.push_back(i); });
  }
  EXPECT_EQ(tape.size(), 3u);
  EXPECT_TRUE(order.empty());
  tape.Backward();
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(tape.size(), 0u);
  tape.Backward();
  EXPECT_EQ(order.size(), 3u);
}

TEST(Tape, KeepsLargeClosuresByValue) {
  Arena arena;
  Tape tape;
  double sum = 0;
  {
    struct Large {
      double numbers[40];
    } large;
    std::iota(large.numbers, large.numbers + 40, 0.0);
    tape.Record(Op::kOther, arena, [large, &sum] {
      for (const double number : large.numbers) sum += number;
    });
    large = {};
  }
  tape.Backward();
  EXPECT_EQ(sum, 780);
}

TEST(Context, GivesGradientsOnlyWithATape) {
  Arena arena;
  Context infer{.arena = arena};
  EXPECT_EQ(infer.New(2, 3).grad.data, nullptr);
  Tape tape;
  Context train{.arena = arena, .tape = &tape};
  const Variable x = train.New(5, 20);
  ASSERT_NE(x.grad.data, nullptr);
  EXPECT_FALSE(*x.has_grad);
}

TEST(Variable, ItsFirstContributionIsSetAndLaterOnesAreAdded) {
  Arena arena;
  Tape tape;
  Context context{.arena = arena, .tape = &tape};
  const Variable x = context.New(2, 3), y = context.New(2, 3);
  EXPECT_EQ(x.ClaimGrad(), Write::kSet);
  EXPECT_EQ(x.ClaimGrad(), Write::kAdd);
  EXPECT_EQ(x.Columns(1, 1).ClaimGrad(), Write::kAdd);
  std::fill_n(y.grad.data, 6, 7.0f);
  y.CompleteGrad();  // nothing contributed
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.grad.data[i], 0);
  std::fill_n(y.grad.data, 6, 7.0f);
  y.CompleteGrad();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(y.grad.data[i], 7);
}

TEST(Context, AResultInPlaceSharesWhatItSays) {
  Arena arena;
  Tape tape;
  Context context{.arena = arena, .tape = &tape};
  const Variable x = context.New(2, 3);
  const Variable over = context.InPlaceOf(x), beside = context.WithGradOf(x);
  EXPECT_EQ(over.value.data, x.value.data);
  EXPECT_NE(beside.value.data, x.value.data);
  EXPECT_EQ(over.grad.data, x.grad.data);
  EXPECT_EQ(beside.grad.data, x.grad.data);
  x.ClaimGrad();
  EXPECT_FALSE(*over.has_grad);
  EXPECT_FALSE(*beside.has_grad);
}

// Gradients of a layer and of its neighbours lie apart, those of every other
// layer in the same place; what is outside all layers has its own.
TEST(LayerMemory, LayersShareTheMemoryOfGradients) {
  Arena arena;
  Tape tape;
  Context context{.arena = arena, .tape = &tape};
  const Variable input = context.New(4, 4);
  std::vector<const float*> grads;
  for (size_t layer = 0; layer < 4; ++layer) {
    LayerMemory memory(context, layer % 2);
    grads.push_back(context.New(4, 4).grad.data);
  }
  EXPECT_EQ(grads[0], grads[2]);
  EXPECT_EQ(grads[1], grads[3]);
  EXPECT_NE(grads[0], grads[1]);
  const Variable output = context.New(4, 4);
  EXPECT_NE(output.grad.data, input.grad.data);
  for (const float* grad : grads) {
    EXPECT_NE(output.grad.data, grad);
  }
  EXPECT_NE(input.grad.data, grads[0]);
}

TEST(Context, EachDropoutHasItsOwnKeyAndEachPassTheSame) {
  Arena arena;
  const Random random(1);
  const auto draw = [&] {
    Context context{.arena = arena, .random = &random};
    const Dropout first = context.NextDropout(0.1f);
    const Dropout second = context.NextDropout(0.1f);
    EXPECT_NE(first.key, second.key);
    return std::vector<uint64_t>{first.key, second.key};
  };
  EXPECT_EQ(draw(), draw());
  const Random other(2);
  Context context{.arena = arena, .random = &other};
  EXPECT_NE(context.NextDropout(0.1f).key, draw()[0]);
}

TEST(Context, DropsNothingWithoutChance) {
  Arena arena;
  Context context{.arena = arena};
  EXPECT_FALSE(context.NextDropout(0.5f).active());
  const Random random(1);
  context.random = &random;
  EXPECT_FALSE(context.NextDropout(0).active());
}

TEST(Variable, ColumnsAreThoseOfValueAndGradient) {
  Arena arena;
  Tape tape;
  Context context{.arena = arena, .tape = &tape};
  const Variable x = context.New(3, 8);
  const Variable part = x.Columns(2, 4);
  EXPECT_EQ(part.width(), 4);
  EXPECT_EQ(part.value.Row(1), x.value.Row(1) + 2);
  EXPECT_EQ(part.grad.Row(2), x.grad.Row(2) + 2);
  context.tape = nullptr;
  EXPECT_EQ(context.New(3, 8).Columns(2, 4).grad.data, nullptr);
}

TEST(LayerMemory, KeepsTheResultAndFreesTheRest) {
  Arena arena;
  Context context{.arena = arena};
  const Variable input = context.New(1, 16);
  const Arena::Mark mark = arena.mark();
  LayerMemory memory(context, 0);
  // Smaller than the result, so that moving it overlaps its old place.
  context.New(1, 16);
  Variable x = context.New(9, 100);
  std::iota(x.value.data, x.value.data + x.value.size(), 0.0f);
  const Variable kept = memory.Keep(x);
  EXPECT_EQ(kept.rows(), 9);
  EXPECT_EQ(kept.width(), 100);
  for (int64_t i = 0; i < kept.value.size(); ++i) {
    ASSERT_EQ(kept.value.data[i], static_cast<float>(i));
  }
  arena.Rewind(mark);
  EXPECT_EQ(arena.NewMatrix(9, 100).data, kept.value.data);
  EXPECT_NE(input.value.data, kept.value.data);
}

TEST(LayerMemory, KeepsAResultOfALaterChunk) {
  Arena arena;
  Context context{.arena = arena};
  context.New(1, 16);
  LayerMemory memory(context, 0);
  context.New(1 << 10, 1 << 10);  // fills the first chunk
  const Variable x = context.New(1 << 10, 1 << 9);
  for (int64_t i = 0; i < x.value.size(); ++i) {
    x.value.data[i] = static_cast<float>(i);
  }
  const Variable kept = memory.Keep(x);
  for (int64_t i = 0; i < kept.value.size(); ++i) {
    ASSERT_EQ(kept.value.data[i], static_cast<float>(i));
  }
}

TEST(LayerMemory, LeavesEverythingToATape) {
  Arena arena;
  Tape tape;
  Context context{.arena = arena, .tape = &tape};
  LayerMemory memory(context, 0);
  const Variable x = context.New(2, 3);
  const Variable kept = memory.Keep(x);
  EXPECT_EQ(kept.value.data, x.value.data);
  EXPECT_EQ(kept.grad.data, x.grad.data);
  EXPECT_NE(context.New(2, 3).value.data, x.value.data);
}

TEST(RaggedIds, LaysSentencesOneAfterAnother) {
  RaggedIds batch;
  EXPECT_EQ(batch.view().sentences(), 0);
  EXPECT_EQ(batch.view().rows(), 0);
  const std::vector<int32_t> pieces = {5, 6, 7};
  batch.Append(1, pieces, 2);
  batch.Append(-1, {}, -1);
  batch.Append(-1, pieces, 2);
  batch.Append(0, {}, -1);
  EXPECT_EQ(batch.ids, (std::vector<int32_t>{1, 5, 6, 7, 2, 5, 6, 7, 2, 0}));
  EXPECT_EQ(batch.offsets, (std::vector<int32_t>{0, 5, 5, 9, 10}));
  EXPECT_EQ(batch.view().sentences(), 4);
  EXPECT_EQ(batch.view().rows(), 10);
  batch.Clear();
  EXPECT_EQ(batch.view().sentences(), 0);
  EXPECT_EQ(batch.view().rows(), 0);
}

}  // namespace
}  // namespace pipeformer
