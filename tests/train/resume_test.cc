// Two hundred updates equal one hundred, saved, read into fresh objects, and
// one hundred more: bit for bit, in weights, moments, averages and place.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "formats/training_state.h"
#include "tests/train/toy_training.h"

namespace pipeformer {
namespace {

enum class EpochsAre { kAlike, kCutAnew };

// Trains until an update.
class Until : public TrainingListener {
 public:
  Until(ToyTraining& toy, EpochsAre epochs, int64_t step)
      : toy_(toy), epochs_(epochs), step_(step) {}

  void BeginEpoch(int64_t number) override {
    if (epochs_ == EpochsAre::kCutAnew) toy_.CutAnew(number);
  }
  void Updated(const UpdateReport&) override {}
  std::vector<double> Validate(const TrainingPosition& position) override {
    return {static_cast<double>(position.validations % 3)};
  }
  void Validated(const TrainingPosition&, const std::vector<bool>&) override {}
  void Save(const TrainingPosition&) override {}
  bool Interrupted() override { return toy_.trainer().state().step >= step_; }
  double Seconds() override { return 0; }

 private:
  ToyTraining& toy_;
  EpochsAre epochs_;
  int64_t step_;
};

LoopOptions Options() {
  return {.batcher = {.batch_rows = 128},
          .schedule = {.learning_rate = 0.01, .warmup_updates = 20},
          .after = {.updates = 200},
          .valid_freq = {.updates = 30},
          .checkpoints = {KeepCheckpoints::kBest, 2}};
}

struct Kind {
  const char* name;
  ModelType type;
  TrainedOn trained_on;
  PositionKind position;
  EpochsAre epochs = EpochsAre::kAlike;
};

ToyOptions Toy(const Kind& kind) {
  return {.type = kind.type,
          .trained_on = kind.trained_on,
          .position = kind.position,
          .threads = 2,
          .dropout = 0.1f,
          .trainer = {.exponential_smoothing = 0.99f}};
}

const TrainingIdentity kIdentity = {
    {"corpus", "abc"}, {"--seed", 1}, {"--learn-rate", 0.01}};

std::string Path(const std::string& name) { return testing::TempDir() + name; }

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Save(ToyTraining& toy, const TrainingPosition& position,
          const std::string& path) {
  WriteTrainingState(toy.network().parameters(), toy.trainer().state(),
                     position, kIdentity, path);
}

void Load(ToyTraining& toy, TrainingPosition& position,
          const std::string& path) {
  ReadTrainingState(path, kIdentity, toy.network().parameters(),
                    toy.trainer().state(), position);
}

// Trains from `position` until update `step`, or to the end.
void Train(ToyTraining& toy, EpochsAre epochs, TrainingPosition& position,
           int64_t step) {
  Until listener(toy, epochs, step);
  RunTraining(toy.trainer(), toy.corpus(), Options(), listener, position);
}

class Resume : public testing::TestWithParam<Kind> {};

TEST_P(Resume, TwoHundredUpdatesEqualTwiceAHundred) {
  const ToyOptions options = Toy(GetParam());
  const EpochsAre epochs = GetParam().epochs;
  ToyTraining whole(options), first(options);
  TrainingPosition whole_position, position;
  Train(whole, epochs, whole_position, 1000);
  Save(whole, whole_position, Path("whole.state"));

  Train(first, epochs, position, 100);
  ASSERT_EQ(first.trainer().state().step, 100);
  Save(first, position, Path("half.state"));
  ToyTraining second(options);
  TrainingPosition read;
  Load(second, read, Path("half.state"));
  EXPECT_EQ(second.Values(), first.Values());
  Train(second, epochs, read, 1000);
  Save(second, read, Path("resumed.state"));

  EXPECT_EQ(second.trainer().state().step, 200);
  EXPECT_EQ(second.Values(), whole.Values());
  EXPECT_EQ(second.trainer().state().averages,
            whole.trainer().state().averages);
  EXPECT_EQ(Bytes(Path("resumed.state")), Bytes(Path("whole.state")));
  EXPECT_NE(Bytes(Path("half.state")), Bytes(Path("whole.state")));
}

constexpr auto kEncoderDecoder = ModelType::kEncoderDecoder;
constexpr auto kLanguageModel = ModelType::kLanguageModel;
constexpr auto kPairs = TrainedOn::kPairs;
constexpr auto kSentences = TrainedOn::kSentences;

INSTANTIATE_TEST_SUITE_P(
    Kinds, Resume,
    testing::Values(
        Kind{"Sinusoidal", kEncoderDecoder, kPairs, PositionKind::kSinusoidal},
        Kind{"CutAnew", kEncoderDecoder, kPairs, PositionKind::kSinusoidal,
             EpochsAre::kCutAnew},
        Kind{"Learned", kEncoderDecoder, kPairs, PositionKind::kLearned},
        Kind{"Relative", kEncoderDecoder, kPairs, PositionKind::kRelative},
        Kind{"PairsModelRotary", kLanguageModel, kPairs, PositionKind::kRotary},
        Kind{"PairsModelAlibi", kLanguageModel, kPairs, PositionKind::kAlibi},
        Kind{"SentencesModelLearned", kLanguageModel, kSentences,
             PositionKind::kLearned},
        Kind{"SentencesModelRelative", kLanguageModel, kSentences,
             PositionKind::kRelative}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pipeformer
