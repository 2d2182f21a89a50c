// What a prediction depends on: on nothing that is yet to come, unless the
// mask is taken away; on nothing farther off than windows reach; and on the
// order of what there is.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/transformer.h"
#include "tests/nn/test_network.h"

namespace pipeformer {
namespace {

constexpr int64_t kSource = 9, kTarget = 20;

class Visibility : public testing::TestWithParam<NamedConfig> {
 protected:
  Visibility() { MakePair(GetParam().config); }

  void MakePair(const TransformerConfig& config) {
    network_ = RandomNetwork(config, 5);
    network_->Pack();
    const int64_t source[] = {kSource}, target[] = {kTarget};
    source_ = RandomBatch(source, config.source_vocab, Random(1)).ids;
    target_ = RandomBatch(target, config.target_vocab, Random(2)).ids;
  }

  // The logits that predict each target piece and the end.
  std::vector<std::vector<float>> Run() const {
    PairBatch batch(network_->config(), Boundary{});
    batch.Append(source_, target_);
    Arena arena;
    Context context{.arena = arena};
    const Variable hidden = network_->Predict(context, batch);
    const Matrix logits = network_->output()(context, hidden).value;
    std::vector<std::vector<float>> rows;
    for (int64_t r = 0; r < logits.rows; ++r) {
      rows.emplace_back(logits.Row(r), logits.Row(r) + logits.cols);
    }
    return rows;
  }

  static void Change(int32_t& piece) { piece = piece == 5 ? 6 : 5; }

  std::unique_ptr<Transformer> network_;
  std::vector<int32_t> source_, target_;
};

TEST_P(Visibility, NothingThatIsToComeMatters) {
  const auto before = Run();
  Change(target_[12]);
  const auto after = Run();
  for (size_t t = 0; t <= 12; ++t) EXPECT_EQ(after[t], before[t]) << t;
  EXPECT_NE(after[13], before[13]);
}

TEST_P(Visibility, WithoutTheMaskTheFutureLeaksIn) {
  TransformerConfig config = GetParam().config;
  config.decoder_mask = Mask::kNone;
  MakePair(config);
  const auto before = Run();
  Change(target_[12]);
  EXPECT_NE(Run()[12], before[12]);
}

TEST_P(Visibility, TheSourceMattersEverywhere) {
  if (GetParam().config.attention_window > 0) {
    GTEST_SKIP() << "a window ends before the source does";
  }
  const auto before = Run();
  Change(source_[2]);
  const auto after = Run();
  for (size_t t = 0; t < before.size(); ++t) EXPECT_NE(after[t], before[t]);
}

TEST_P(Visibility, OrderMatters) {
  ASSERT_NE(target_[17], target_[18]);
  ASSERT_NE(source_[7], source_[8]);
  const auto before = Run();
  std::swap(target_[17], target_[18]);
  EXPECT_NE(Run()[20], before[20]);
  std::swap(target_[17], target_[18]);
  std::swap(source_[7], source_[8]);
  EXPECT_NE(Run()[0], before[0]);
}

INSTANTIATE_TEST_SUITE_P(Networks, Visibility,
                         testing::ValuesIn(EveryNetwork()), NameOf);

class WindowReach : public Visibility {};

// Each of the two layers looks three pieces back.
TEST_P(WindowReach, EndsAfterTheLayersWindows) {
  TransformerConfig config = GetParam().config;
  config.attention_window = 3;
  MakePair(config);
  const auto before = Run();
  Change(target_[5]);
  const auto after = Run();
  for (size_t t = 0; t < after.size(); ++t) {
    // Piece 5 is in the row after the one that predicts it.
    const bool reached = t >= 6 && t <= 6 + 2 * 3;
    EXPECT_EQ(after[t] != before[t], reached) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, WindowReach,
                         testing::ValuesIn(EveryArchitecture()), NameOf);

}  // namespace
}  // namespace pipeformer
