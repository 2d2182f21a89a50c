#include "formats/training_state.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "formats/model_config.h"
#include "lib/base/error.h"
#include "tests/formats/test_files.h"

namespace pipeformer {
namespace {

enum class Averages { kNo, kYes };

// Two parameters with some numbers everywhere, the same for the same `first`.
struct State {
  explicit State(float first, Averages averages = Averages::kYes) {
    parameters.DeclareMatrix("weight", 2, 3, {});
    parameters.DeclareVector("bias", 4, 0);
    parameters.Allocate();
    optimizer.step = static_cast<int64_t>(first);
    const auto size = static_cast<size_t>(parameters.size());
    for (size_t i = 0; i < size; ++i) {
      const float number = first + static_cast<float>(i) / 3;
      parameters.values()[i] = number;
      optimizer.first_moment.push_back(-number);
      optimizer.second_moment.push_back(number * number);
      if (averages == Averages::kYes) {
        optimizer.averages.push_back(number / 2);
      }
    }
  }

  void Save(const std::string& path, const TrainingIdentity& identity) const {
    WriteTrainingState(parameters, optimizer, position, identity, path);
  }
  void Load(const std::string& path, const TrainingIdentity& identity) {
    ReadTrainingState(path, identity, parameters, optimizer, position);
  }

  ParameterTable parameters;
  OptimizerState optimizer;
  TrainingPosition position;
};

constexpr double kNone = -std::numeric_limits<double>::infinity();

const TrainingIdentity kIdentity = {
    {"corpus", "abc"}, {"--seed", 1}, {"--learn-rate", 0.01}};

class TrainingStateFile : public testing::Test {
 protected:
  // `path_` is refused as bad data, in a message with all `words`.
  void ExpectRefused(const TrainingIdentity& identity,
                     const std::vector<std::string>& words) {
    try {
      State(1).Load(path_, identity);
      FAIL() << "was accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.code(), ExitCode::kBadData);
      EXPECT_EQ(message.find(path_), 0u) << message;
      for (const std::string& word : words) {
        EXPECT_NE(message.find(word), std::string::npos)
            << word << " in: " << message;
      }
    }
  }

  const std::string path_ = testing::TempDir() + "some.state";
};

TEST_F(TrainingStateFile, SaveLoadSaveGivesTheSameBytes) {
  for (const Averages averages : {Averages::kYes, Averages::kNo}) {
    State state(7, averages), other(2, averages);
    state.position = {.epoch = 3,
                      .batch = 5,
                      .seconds = 12.1,
                      .validations = 2,
                      .best = {-1.0 / 3, kNone},
                      .stalled = 1,
                      .validated = false,
                      .stopped_early = true,
                      .checkpoints = {{40, -0.1}, {70, kNone}}};
    state.Save(path_, kIdentity);
    other.Load(path_, kIdentity);
    const std::string again = testing::TempDir() + "again.state";
    other.Save(again, kIdentity);
    EXPECT_EQ(Bytes(path_), Bytes(again));
    EXPECT_EQ(other.optimizer.step, 7);
    EXPECT_EQ(other.optimizer.second_moment, state.optimizer.second_moment);
    EXPECT_EQ(other.position.best, (std::vector<double>{-1.0 / 3, kNone}));
    EXPECT_EQ(other.position.checkpoints, state.position.checkpoints);
    EXPECT_EQ(other.position.batch, 5);
    EXPECT_FALSE(other.position.validated);
    EXPECT_TRUE(other.position.stopped_early);
  }
}

TEST_F(TrainingStateFile, NamesTheSettingThatChanged) {
  State(1).Save(path_, kIdentity);
  State(2).Load(path_, kIdentity);
  TrainingIdentity changed = kIdentity;
  changed["--learn-rate"] = 0.02;
  ExpectRefused(changed, {"--learn-rate", "0.01", "0.02", "--restart"});
  changed = kIdentity;
  changed["--clip-norm"] = 1;
  ExpectRefused(changed, {"--clip-norm", "--restart"});
}

TEST_F(TrainingStateFile, NamesWhatIsDamaged) {
  State(1).Save(path_, kIdentity);
  const std::string good = Bytes(path_);
  const auto write = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    EXPECT_NE(bytes.find(from), std::string::npos);
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  write(good.substr(0, good.size() / 2));
  ExpectRefused(kIdentity, {});
  write(replaced("pipeformer-training-state", "pipeformer-training-taste"));
  ExpectRefused(kIdentity, {"--restart"});
  write(replaced("\\\"epoch\\\"", "\\\"epoxy\\\""));
  ExpectRefused(kIdentity, {"position", "epoch"});
  write(replaced("\\\"checkpoints\\\":[]", "\\\"checkpoints\\\":{}"));
  ExpectRefused(kIdentity, {"checkpoints {}", "damaged"});
  write(replaced("\"first_moment\"", "\"first_minute\""));
  ExpectRefused(kIdentity, {"first_moment"});
}

TEST_F(TrainingStateFile, NamesTheBufferThatIsMissing) {
  State(1, Averages::kNo).Save(path_, kIdentity);
  ExpectRefused(kIdentity, {"averages"});
}

TEST_F(TrainingStateFile, AMissingFileIsMissingInput) {
  try {
    State(1).Load(testing::TempDir() + "none.state", kIdentity);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputMissing);
  }
}

TEST_F(TrainingStateFile, NamesTheFilesThatChangedAndNotTheirNames) {
  const auto corpus = [](const char* file, const char* hash) {
    return TrainingIdentity{{"training pairs", IdentityOfFiles({file}, hash)}};
  };
  State(1).Save(path_, corpus("a.tsv", "12ab"));
  State(2).Load(path_, corpus("moved.tsv", "12ab"));
  ExpectRefused(corpus("b.tsv", "34cd"), {"training pairs", "a.tsv", "12ab",
                                          "b.tsv", "34cd", "--restart"});
}

TEST_F(TrainingStateFile, NamesWhatDiffersInTheNetwork) {
  const std::string network =
      ConfigToJson({.source_vocab = 8, .target_vocab = 8});
  State(1).Save(path_, {{"network", network}});
  const std::string rotary = ConfigToJson({.position = PositionKind::kRotary,
                                           .source_vocab = 8,
                                           .target_vocab = 8});
  ExpectRefused({{"network", rotary}},
                {"position \"sinusoidal\", now \"rotary\""});
}

}  // namespace
}  // namespace pipeformer
