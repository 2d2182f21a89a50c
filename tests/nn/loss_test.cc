// The loss over the output layer, whose logits exist a piece at a time: value
// and gradients against plain double precision over all rows at once.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/transformer.h"
#include "tests/nn/golden.h"
#include "tests/nn/test_network.h"
#include "tests/support/panel_cross_entropy.h"

namespace pipeformer {
namespace {

using DoubleRows = std::vector<double>;

// What the loss is made of, in double precision.
struct SlowLoss {
  double smoothed = 0, plain = 0;
  DoubleRows d_hidden;  // [rows, d_model]
  DoubleRows d_weight;  // [vocab, d_model]
  DoubleRows d_bias;    // [vocab]
};

// Szegedy et al. 2016, section 7, written out.
SlowLoss SlowLossOf(Matrix hidden, Matrix weight, const float* bias,
                    std::span<const int32_t> targets, double smoothing,
                    double scale) {
  const int64_t vocab = weight.rows, d = weight.cols;
  SlowLoss loss;
  loss.d_hidden.resize(static_cast<size_t>(hidden.size()));
  loss.d_weight.resize(static_cast<size_t>(weight.size()));
  loss.d_bias.resize(static_cast<size_t>(vocab));
  for (int64_t r = 0; r < hidden.rows; ++r) {
    DoubleRows logits(static_cast<size_t>(vocab));
    double sum = 0, mean = 0;
    for (int64_t v = 0; v < vocab; ++v) {
      double& logit = logits[static_cast<size_t>(v)] = bias[v];
      for (int64_t i = 0; i < d; ++i) {
        logit += static_cast<double>(hidden.Row(r)[i]) * weight.Row(v)[i];
      }
      sum += std::exp(logit);
      mean += logit / static_cast<double>(vocab);
    }
    const int32_t target = targets[static_cast<size_t>(r)];
    const double lse = std::log(sum);
    const double nll = lse - logits[static_cast<size_t>(target)];
    loss.plain += nll;
    loss.smoothed += (1 - smoothing) * nll + smoothing * (lse - mean);
    for (int64_t v = 0; v < vocab; ++v) {
      const double wanted = (v == target ? 1 - smoothing : 0) +
                            smoothing / static_cast<double>(vocab);
      const double d_logit =
          scale * (std::exp(logits[static_cast<size_t>(v)] - lse) - wanted);
      loss.d_bias[static_cast<size_t>(v)] += d_logit;
      for (int64_t i = 0; i < d; ++i) {
        loss.d_hidden[static_cast<size_t>(r * d + i)] +=
            d_logit * weight.Row(v)[i];
        loss.d_weight[static_cast<size_t>(v * d + i)] +=
            d_logit * hidden.Row(r)[i];
      }
    }
  }
  return loss;
}

struct Sizes {
  int64_t rows, vocab;
};

TransformerConfig ConfigWith(int64_t vocab) {
  TransformerConfig config = SmallConfig();
  config.source_vocab = config.target_vocab = vocab;
  return config;
}

class Loss : public testing::TestWithParam<Sizes> {
 protected:
  Loss()
      : rows_(GetParam().rows),
        network_(RandomNetwork(ConfigWith(GetParam().vocab), 31)) {
    network_->parameters().ForEachParameter([&](const Parameter& p) {
      if (p.name == "embedding.weight") weight_ = &p;
      if (p.name == "output.bias") bias_ = &p;
    });
    Random random(32);
    for (int64_t i = 0; i < rows_ * weight_->cols; ++i) {
      hidden_.push_back(4 * random.Uniform() - 2);
    }
    for (int64_t r = 0; r < rows_; ++r) {
      targets_.push_back(static_cast<int32_t>(random.Below(77)));
    }
  }

  void ExpectLossLikeTheTwins(float smoothing) {
    TapedPass pass(network_->parameters());
    const Variable hidden = pass.Input(hidden_, weight_->cols);
    const float scale = 1 / static_cast<float>(rows_);
    const LossSum sum =
        network_->Loss(pass.context, hidden, targets_,
                       {.label_smoothing = smoothing, .gradient_scale = scale});
    const SlowLoss slow =
        SlowLossOf(hidden.value, weight_->value, bias_->value.data, targets_,
                   smoothing, scale);
    EXPECT_EQ(sum.pieces, rows_);
    EXPECT_NEAR(sum.smoothed, slow.smoothed, 1e-6 * slow.smoothed);
    EXPECT_NEAR(sum.plain, slow.plain, 1e-6 * slow.plain);
    EXPECT_TRUE(AreNear(hidden.grad, slow.d_hidden, 1e-6));
    EXPECT_TRUE(
        AreNear(GradientOf(*weight_, pass.gradients()), slow.d_weight, 2e-6));
    EXPECT_TRUE(
        AreNear(GradientOf(*bias_, pass.gradients()), slow.d_bias, 2e-6));
  }

  int64_t rows_;
  std::unique_ptr<Transformer> network_;
  const Parameter* weight_ = nullptr;
  const Parameter* bias_ = nullptr;
  DoubleRows hidden_;
  std::vector<int32_t> targets_;
};

TEST_P(Loss, ValueAndGradientsAreTheTwins) { ExpectLossLikeTheTwins(0.1f); }

TEST_P(Loss, WithoutSmoothingIsCrossEntropy) {
  ExpectLossLikeTheTwins(0);
  Arena arena;
  Context context{.arena = arena};
  TapedPass pass(network_->parameters());
  const Variable hidden = pass.Input(hidden_, weight_->cols);
  const LossSum sum = network_->Loss(context, hidden, targets_, {});
  EXPECT_NEAR(sum.smoothed, sum.plain, 1e-6 * sum.plain);
}

// All logits at once, each row by itself: pieces change no bit.
TEST_P(Loss, PiecesEqualTheWhole) {
  network_->Pack();
  Arena arena;
  Context context{.arena = arena};
  TapedPass pass(network_->parameters());
  const Variable hidden = pass.Input(hidden_, weight_->cols);
  const Matrix logits = network_->output()(context, hidden).value;
  std::vector<float> expected, log_probs(targets_.size());
  for (int64_t r = 0; r < rows_; ++r) {
    expected.push_back(logits.Row(r)[targets_[static_cast<size_t>(r)]] -
                       LogSumExp(logits.Row(r), logits.cols));
  }
  network_->ForEachLogits(
      context, hidden,
      [&](int64_t row, std::span<const float> logits_of_row, float lse) {
        const auto r = static_cast<size_t>(row);
        log_probs[r] = logits_of_row[static_cast<size_t>(targets_[r])] - lse;
      });
  EXPECT_EQ(log_probs, expected);

  const LossOptions options{.label_smoothing = 0.1f};
  const LossSum sum = network_->Loss(context, hidden, targets_, options);
  double plain = 0;
  const double smoothed = CrossEntropyInPlace(
      logits, targets_, {.label_smoothing = 0.1f}, &plain, 512);
  EXPECT_NEAR(sum.smoothed, smoothed, 1e-6 * smoothed);
  EXPECT_NEAR(sum.plain, plain, 1e-6 * plain);
}

// Validation packs the weights, then training moves them on: the next
// training loss is that of the new ones.
TEST_P(Loss, OfTrainingReadsTheWeightsThatAre) {
  network_->Pack();
  for (int64_t i = 0; i < weight_->size(); ++i) weight_->value.data[i] *= 0.5f;
  ExpectLossLikeTheTwins(0.1f);
}

// Of one and of several pieces of rows and of the vocabulary.
INSTANTIATE_TEST_SUITE_P(Sizes, Loss,
                         testing::Values(Sizes{1, 77}, Sizes{256, 77},
                                         Sizes{600, 77}, Sizes{257, 1100},
                                         Sizes{3, 512}, Sizes{3, 513}));

}  // namespace
}  // namespace pipeformer
