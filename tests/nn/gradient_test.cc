// The gradient of the whole network, embeddings to loss, against central
// differences of the loss along random directions, parameter by parameter.
//
// Single precision bounds what can be seen: the loss of about 5 nats a piece is
// exact to about 3e-7, so slopes over a step of 4e-3 are exact to about 1e-4.
// Two steps of different size remove the term of third order (Richardson).
// Signs as directions show a fault in any element with its full size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/guided_alignment.h"
#include "lib/nn/transformer.h"
#include "tests/nn/test_network.h"

namespace pipeformer {
namespace {

constexpr int kDirections = 2;
constexpr float kStep = 4e-3f;

struct Case {
  std::string name;
  TransformerConfig config;
  Predict predict = Predict::kTarget;
  std::optional<AlignmentCost> guide = {};

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.name;
  }
};

// Every network; its language models also with the loss on both sides; and
// with dropout everywhere.
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& [name, config, precision] : EveryNetwork()) {
    cases.push_back({name, config});
  }
  for (const auto& [name, config, precision] : EveryArchitecture()) {
    if (config.is_language_model()) {
      cases.push_back({name + "Both", config, Predict::kBoth});
    }
    const auto add = [&](const std::string& what) -> TransformerConfig& {
      TransformerConfig& added =
          cases.emplace_back(Case{name + what, config}).config;
      added.dropout = added.attention_dropout = added.ffn_dropout = 0.2f;
      return added;
    };
    add("Dropout").norm = NormPlace::kPre;
    add("DropoutSwish").activation = Activation::kSwish;
    add("DropoutRelative").position = PositionKind::kRelative;
    if (config.is_language_model()) continue;
    add("GuidedByEntropy");
    cases.back().guide = AlignmentCost::kCrossEntropy;
    add("GuidedBySquares");
    cases.back().guide = AlignmentCost::kMeanSquare;
  }
  return cases;
}

class Gradient : public testing::TestWithParam<Case> {
 protected:
  Gradient() : random_(21) {
    const TransformerConfig& config = GetParam().config;
    network_ = RandomNetwork(config, 22);
    if (config.activation == Activation::kRelu) KeepFromKink();
    if (config.position == PositionKind::kRelative) SharpenAttention();
    const std::vector<int64_t> source_lengths = {5, 18, 1, 33, 9};
    const std::vector<int64_t> target_lengths = {7, 3, 21, 17, 1};
    batch_ = PairsOf(
        config, RandomBatch(source_lengths, config.source_vocab, Random(23)),
        RandomBatch(target_lengths, config.target_vocab, Random(24)),
        GetParam().predict);
    if (GetParam().guide) AlignAndWeigh();
  }

  // Every second target piece has a link or two, every pair its weight.
  void AlignAndWeigh() {
    PairBatch batch(GetParam().config, {});
    for (int64_t s = 0; s < batch_->source().sentences(); ++s) {
      const auto pieces = [s](Ragged side) {
        const auto begin =
            static_cast<size_t>(side.offsets[static_cast<size_t>(s)]);
        const auto end =
            static_cast<size_t>(side.offsets[static_cast<size_t>(s) + 1]);
        return side.ids.subspan(begin, end - begin - 1);
      };
      const auto source = pieces(batch_->source());
      const auto target = pieces(batch_->targets());
      batch.Append(source, target);
      batch.Weigh(0.5f + static_cast<float>(s));
      std::vector<Link> links;
      for (int32_t t = 0; t < static_cast<int32_t>(target.size()); t += 2) {
        const auto last = static_cast<int32_t>(source.size()) - 1;
        links.push_back({std::min(t / 2, last), t});
        if (t / 2 < last && t % 4 == 0) links.push_back({last, t});
      }
      batch.Align(links);
    }
    batch_.emplace(std::move(batch));
  }

  // Relu has no derivative at zero: every other unit is well above, the rest
  // well below, for all the steps taken here.
  void KeepFromKink() {
    network_->parameters().ForEachParameter([](Parameter& p) {
      if (!p.name.ends_with("linear1.bias")) return;
      for (int64_t i = 0; i < p.size(); ++i) {
        p.value.data[i] = i % 2 == 0 ? 4.0f : -4.0f;
      }
    });
  }

  // Small queries would hide a fault in the gradient of relative keys.
  void SharpenAttention() {
    network_->parameters().ForEachParameter([](Parameter& p) {
      if (!p.name.ends_with("self_attn.in_proj_weight")) return;
      for (int64_t i = 0; i < p.size(); ++i) p.value.data[i] *= 2;
    });
  }

  // The smoothed loss a piece; with `gradients`, its gradient too.
  double Loss(float* gradients,
              Tape::Gradients memory = Tape::Gradients::kShared) const {
    arena_.Rewind({});
    Tape tape(memory);
    Context context{.arena = arena_, .random = &random_};
    if (gradients != nullptr) {
      context.tape = &tape;
      context.gradients = gradients;
    }
    const std::span<const int32_t> targets = batch_->targets().ids;
    const auto pieces = static_cast<double>(targets.size());
    const auto scale = static_cast<float>(1 / pieces);
    constexpr GuideOptions kGuide{.weight = 2, .layer = 1};
    GuideOptions guide_options = kGuide;
    guide_options.cost = GetParam().guide.value_or(kGuide.cost);
    GuidedAlignment guide(GetParam().config, *batch_, guide_options, scale,
                          arena_);
    if (GetParam().guide) context.probe = &guide;
    const Variable hidden = network_->Predict(context, *batch_);
    const LossSum sum = network_->Loss(context, hidden, targets,
                                       {.label_smoothing = 0.1f,
                                        .gradient_scale = scale,
                                        .weights = batch_->weights()});
    tape.Backward();
    return (sum.smoothed + guide_options.weight * guide.loss()) / pieces;
  }

  // The change of the loss from -step to +step along `signs`, over 2 step.
  double Slope(Parameter& p, const std::vector<float>& signs,
               float step) const {
    const std::vector<float> before(p.value.data, p.value.data + p.size());
    const auto loss_at = [&](float by) {
      for (size_t i = 0; i < signs.size(); ++i) {
        p.value.data[i] = before[i] + by * signs[i];
      }
      return Loss(nullptr);
    };
    const double slope = (loss_at(step) - loss_at(-step)) / (2.0 * step);
    std::copy(before.begin(), before.end(), p.value.data);
    return slope;
  }

  Random random_;
  mutable Arena arena_;
  std::unique_ptr<Transformer> network_;
  std::optional<PairBatch> batch_;
};

TEST_P(Gradient, EqualsCentralDifferences) {
  std::vector<float> gradients(
      static_cast<size_t>(network_->parameters().size()));
  Loss(gradients.data());
  Random random(26);
  network_->parameters().ForEachParameter([&](Parameter& p) {
    const float* gradient = gradients.data() + p.offset;
    double norm = 0;
    for (int64_t i = 0; i < p.size(); ++i) {
      norm = std::hypot(norm, gradient[i]);
    }
    EXPECT_GT(norm, 5e-4) << p.name << " takes part in the loss";
    for (int direction = 0; direction < kDirections; ++direction) {
      std::vector<float> signs;
      double expected = 0;
      for (int64_t i = 0; i < p.size(); ++i) {
        signs.push_back(random.Below(2) == 0 ? -1.0f : 1.0f);
        expected += static_cast<double>(gradient[i]) * signs.back();
      }
      const double slope =
          (4 * Slope(p, signs, kStep / 2) - Slope(p, signs, kStep)) / 3;
      EXPECT_NEAR(slope, expected, 2e-4 + 2e-3 * norm) << p.name;
    }
  });
}

// Backward adds: two batches' gradients are the sum of each.
TEST_P(Gradient, IsAdded) {
  const auto size = static_cast<size_t>(network_->parameters().size());
  std::vector<float> once(size), twice(size);
  Loss(once.data());
  Loss(twice.data());
  Loss(twice.data());
  for (size_t i = 0; i < size; ++i) {
    ASSERT_NEAR(twice[i], 2 * once[i], 1e-5) << "element " << i;
  }
}

TEST_P(Gradient, IsTakenAtTheLossThatInferenceSees) {
  std::vector<float> gradients(
      static_cast<size_t>(network_->parameters().size()));
  EXPECT_NEAR(Loss(gradients.data()), Loss(nullptr), 1e-6);
}

// Layers share the memory of their gradients; were one overwritten that is
// still needed, it would show against gradients that lie apart.
using SharedMemory = Gradient;

TEST_P(SharedMemory, ChangesNoBitOfAGradient) {
  const auto size = static_cast<size_t>(network_->parameters().size());
  std::vector<float> shared(size), apart(size);
  Loss(shared.data());
  Loss(apart.data(), Tape::Gradients::kApart);
  EXPECT_EQ(shared, apart);
  EXPECT_TRUE(std::any_of(shared.begin(), shared.end(),
                          [](float x) { return x != 0; }));
}

// Deep enough that every region is used three times in a pass.
std::vector<Case> DeepCases() {
  std::vector<Case> cases = Cases();
  for (Case& c : cases) {
    c.config.decoder_layers = 6;
    if (!c.config.is_language_model()) c.config.encoder_layers = 5;
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(DeepNetworks, SharedMemory,
                         testing::ValuesIn(DeepCases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Networks, Gradient, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pipeformer
