#include "lib/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/train/toy_training.h"

namespace pipeformer {
namespace {

double Norm(std::span<const float> values) {
  double squares = 0;
  for (const float v : values) {
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  return std::sqrt(squares);
}

TEST(Trainer, LearnsToCopy) {
  ToyTraining toy({.trainer = {.label_smoothing = 0}});
  const std::vector<double> losses = toy.Run(400, 0.01);
  EXPECT_NEAR(losses.front(), std::log(12), 1);  // as good as a guess
  EXPECT_LT(losses.back(), 0.3);
  toy.network().Pack();
  const LossSum loss = toy.trainer().Evaluate(toy.network(), toy.corpus());
  EXPECT_LT(loss.plain / static_cast<double>(loss.pieces), 0.3);
}

// A language model learns the same from pairs, with any positions.
class TrainerOfLanguageModels : public testing::TestWithParam<PositionKind> {};

TEST_P(TrainerOfLanguageModels, LearnToCopy) {
  ToyTraining toy({.type = ModelType::kLanguageModel,
                   .position = GetParam(),
                   .trainer = {.label_smoothing = 0},
                   .longest = 4});
  const std::vector<double> losses = toy.Run(600, 0.01);
  EXPECT_GT(losses.front(), 2);  // of log(12) = 2.48 for a guess
  EXPECT_LT(losses.back(), 0.8);
}

INSTANTIATE_TEST_SUITE_P(Positions, TrainerOfLanguageModels,
                         testing::Values(PositionKind::kSinusoidal,
                                         PositionKind::kLearned,
                                         PositionKind::kRelative,
                                         PositionKind::kRotary,
                                         PositionKind::kAlibi));

TEST(Trainer, LearnsSentencesByHeart) {
  ToyTraining toy({.type = ModelType::kLanguageModel,
                   .trained_on = TrainedOn::kSentences,
                   .trainer = {.label_smoothing = 0},
                   .pairs = 3});
  const std::vector<double> losses = toy.Run(200, 0.01);
  EXPECT_GT(losses.front(), 2);
  EXPECT_LT(losses.back(), 0.5);
}

TEST(Trainer, CountsTheSourceWhereTheLossDoes) {
  for (const Predict predict : {Predict::kTarget, Predict::kBoth}) {
    ToyTraining toy(
        {.type = ModelType::kLanguageModel, .trainer = {.predict = predict}});
    const Batch batch = toy.FirstBatch();
    int64_t pieces = 0;
    for (const int64_t s : batch) {
      const auto side = static_cast<int64_t>(toy.corpus().target[s].size()) + 1;
      pieces += predict == Predict::kBoth ? 2 * side : side;
    }
    EXPECT_EQ(toy.trainer().Update(batch, 0.01).loss.pieces, pieces);
  }
}

TEST(Trainer, SameSeedAndThreadsGiveTheSameBytes) {
  for (const int threads : {1, 2, 3}) {
    const ToyOptions options = {.threads = threads, .dropout = 0.2f};
    ToyTraining a(options), b(options);
    EXPECT_EQ(a.Run(30, 0.01), b.Run(30, 0.01));
    EXPECT_EQ(a.Values(), b.Values());
  }
}

TEST(Trainer, AnotherSeedGivesOtherDropout) {
  ToyTraining a({.dropout = 0.2f}), b({.dropout = 0.2f});
  const Batch batch = a.FirstBatch();
  // The same weights, another step: other chance.
  b.trainer().state().step = 1;
  EXPECT_NE(a.trainer().Update(batch, 0).loss.plain,
            b.trainer().Update(batch, 0).loss.plain);
}

TEST(Trainer, ThreadsDivideTheWorkAndNotTheResult) {
  ToyTraining one({.threads = 1}), two({.threads = 2}), five({.threads = 5});
  const std::vector<double> expected = one.Run(40, 0.005);
  for (ToyTraining* other : {&two, &five}) {
    const std::vector<double> losses = other->Run(40, 0.005);
    EXPECT_NEAR(losses[0], expected[0], 1e-5);
    EXPECT_NEAR(losses[39], expected[39], 0.02);
  }
}

TEST(Trainer, ShardsDoNotChangeTheLossNorTheGradient) {
  ToyTraining whole({}), parts({.trainer = {.shard_rows = 16}});
  const Batch batch = whole.FirstBatch();
  const UpdateResult a = whole.trainer().Update(batch, 0.01);
  const UpdateResult b = parts.trainer().Update(batch, 0.01);
  EXPECT_EQ(a.loss.pieces, b.loss.pieces);
  EXPECT_EQ(a.given_pieces, b.given_pieces);
  EXPECT_NEAR(a.loss.plain, b.loss.plain, 1e-3);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-4);
}

TEST(Trainer, WeightOneIsNoWeight) {
  ToyTraining with({.dropout = 0.1f}), without({.dropout = 0.1f});
  with.Weigh(std::vector<float>(200, 1));
  EXPECT_EQ(with.Run(5, 0.01), without.Run(5, 0.01));
  EXPECT_EQ(with.Values(), without.Values());
}

TEST(Trainer, WeightTwoIsThePairTwice) {
  const ToyOptions options{.trainer = {.clip_norm = 0}};
  ToyTraining weighted(options), repeated(options);
  std::vector<float> weights(200, 1);
  weights[3] = 2;
  weighted.Weigh(weights);
  const UpdateResult a = weighted.trainer().Update({1, 3, 5}, 0.01);
  const UpdateResult b = repeated.trainer().Update({1, 3, 3, 5}, 0.01);
  EXPECT_EQ(a.loss.weight, static_cast<double>(b.loss.pieces));
  EXPECT_EQ(b.loss.weight, static_cast<double>(b.loss.pieces));
  EXPECT_NEAR(a.loss.smoothed, b.loss.smoothed, 1e-5 * b.loss.smoothed);
  EXPECT_NEAR(a.gradient_norm, b.gradient_norm, 1e-5 * b.gradient_norm);
  const auto& moments = weighted.trainer().state().first_moment;
  const auto& expected = repeated.trainer().state().first_moment;
  for (size_t i = 0; i < moments.size(); ++i) {
    EXPECT_NEAR(moments[i], expected[i], 1e-6 * b.gradient_norm);
  }
}

TEST(Trainer, GuidesAttention) {
  for (const AlignmentCost cost :
       {AlignmentCost::kCrossEntropy, AlignmentCost::kMeanSquare}) {
    ToyTraining guided({.trainer = {.guide = {.cost = cost, .weight = 1}}});
    guided.AlignAsCopies();
    const auto alignment = [&] {
      const LossSum loss =
          guided.trainer().Update(guided.FirstBatch(), 0.01).loss;
      return loss.alignment / loss.weight;
    };
    const double before = alignment();
    guided.Run(100, 0.01);
    EXPECT_LT(alignment(), before / 3);
  }
}

// A guide that weighs nothing changes nothing, to the last bit.
TEST(Trainer, AlignmentWithoutWeightIsNone) {
  ToyTraining with({.dropout = 0.1f, .trainer = {.guide = {.weight = 0}}});
  ToyTraining without({.dropout = 0.1f});
  with.AlignAsCopies();
  EXPECT_EQ(with.Run(5, 0.01), without.Run(5, 0.01));
  EXPECT_EQ(with.Values(), without.Values());
}

TEST(Trainer, CountsPiecesWithTheirEndSymbols) {
  ToyTraining toy({});
  const Batch batch = toy.FirstBatch();
  int64_t pieces = 0;
  for (const int64_t s : batch) {
    pieces += static_cast<int64_t>(toy.corpus().target[s].size()) + 1;
  }
  const UpdateResult result = toy.trainer().Update(batch, 0.01);
  EXPECT_EQ(result.loss.pieces, pieces);
  EXPECT_EQ(result.given_pieces, pieces);  // source and target are alike
}

// After one update Adam's first moment is (1 - beta1) times the clipped
// gradient.
TEST(Trainer, ClipsTheGradientToItsNorm) {
  ToyTraining free({.trainer = {.clip_norm = 0}});
  const Batch batch = free.FirstBatch();
  const double norm = free.trainer().Update(batch, 0.01).gradient_norm;
  EXPECT_GT(norm, 0.2);
  EXPECT_NEAR(Norm(free.trainer().state().first_moment), 0.1 * norm,
              1e-4 * norm);
  ToyTraining clipped({.trainer = {.clip_norm = norm / 4}});
  // What is reported is the norm before clipping.
  EXPECT_NEAR(clipped.trainer().Update(batch, 0.01).gradient_norm, norm,
              1e-6 * norm);
  EXPECT_NEAR(Norm(clipped.trainer().state().first_moment), 0.1 * norm / 4,
              1e-4 * norm);
  ToyTraining loose({.trainer = {.clip_norm = norm * 4}});
  loose.trainer().Update(batch, 0.01);
  EXPECT_EQ(loose.Values(), free.Values());
}

TEST(Trainer, AveragesFollowTheirFormula) {
  ToyTraining toy({.trainer = {.exponential_smoothing = 0.5f}});
  std::vector<float> first = toy.Values();
  std::vector<double> expected(first.begin(), first.end());
  const Batch batch = toy.FirstBatch();
  for (int step = 1; step <= 20; ++step) {
    toy.trainer().Update(batch, 0.01);
    // Young averages forget faster.
    const double decay = std::min(0.5, step / (step + 9.0));
    const std::vector<float> values = toy.Values();
    for (size_t i = 0; i < values.size(); ++i) {
      expected[i] +=
          (1 - decay) * (static_cast<double>(values[i]) - expected[i]);
    }
  }
  const std::vector<float>& averages = toy.trainer().state().averages;
  ASSERT_EQ(averages.size(), expected.size());
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(
        largest, std::abs(static_cast<double>(averages[i]) - expected[i]));
  }
  EXPECT_LT(largest, 1e-5);
  EXPECT_NE(averages, toy.Values());
}

TEST(Trainer, WithoutSmoothingThereAreNoAverages) {
  ToyTraining toy({});
  toy.Run(2, 0.01);
  EXPECT_TRUE(toy.trainer().state().averages.empty());
}

TEST(Trainer, EvaluatingChangesNothingAndDoesNotDependOnThreads) {
  ToyTraining one({.threads = 1, .dropout = 0.5f});
  ToyTraining two({.threads = 2, .dropout = 0.5f});
  one.network().Pack();
  two.network().Pack();
  const std::vector<float> before = one.Values();
  const LossSum a = one.trainer().Evaluate(one.network(), one.corpus());
  const LossSum b = two.trainer().Evaluate(two.network(), two.corpus());
  EXPECT_EQ(a.plain, b.plain);
  EXPECT_EQ(a.pieces, b.pieces);
  EXPECT_EQ(one.trainer().Evaluate(one.network(), one.corpus()).plain, a.plain);
  EXPECT_EQ(one.Values(), before);
  EXPECT_EQ(one.trainer().state().step, 0);
}

// Field case ev-after-valid: validation takes no chance from training, and
// dropout goes on after it.
TEST(Trainer, EvaluatingDoesNotDisturbTheTraining) {
  ToyTraining with({.dropout = 0.5f}), without({.dropout = 0.5f});
  const Batch batch = with.FirstBatch();
  for (int i = 0; i < 5; ++i) {
    with.network().Pack();
    with.trainer().Evaluate(with.network(), with.corpus());
    EXPECT_EQ(with.trainer().Update(batch, 0.01).loss.smoothed,
              without.trainer().Update(batch, 0.01).loss.smoothed);
  }
  EXPECT_EQ(with.Values(), without.Values());
}

// Field case small-one-sentence: one pair of one piece.
TEST(Trainer, TrainsOnOnePieceAlone) {
  ToyTraining toy({.pairs = 1, .longest = 1});
  const std::vector<double> losses = toy.Run(30, 0.01);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  EXPECT_LT(losses.back(), losses.front());
}

}  // namespace
}  // namespace pipeformer
