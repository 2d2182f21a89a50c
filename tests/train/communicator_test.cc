// Processes that train together: what they agree on, and that they train as one
// does. Threads play the processes; tests/tools runs real ones.
#include "lib/train/communicator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "tests/train/thread_processes.h"
#include "tests/train/toy_training.h"

namespace pipeformer {
namespace {

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Communicator, OneProcessAgreesWithItself) {
  SingleProcess& one = SingleProcess::Instance();
  EXPECT_TRUE(one.is_first());
  EXPECT_EQ(Gather(one, 2.5), std::vector<double>({2.5}));
  EXPECT_EQ(OfFirst(one, 2.5), 2.5);
  EXPECT_TRUE(Any(one, true));
  EXPECT_FALSE(Any(one, false));
  EXPECT_EQ(FirstToDiffer(one, Bytes("a")), -1);
}

TEST(Communicator, EveryProcessLearnsWhatTheOthersHave) {
  ThreadProcesses(3).Run([](Communicator& processes) {
    const int rank = processes.rank();
    EXPECT_EQ(Gather(processes, rank + 0.5),
              std::vector<double>({0.5, 1.5, 2.5}));
    EXPECT_EQ(OfFirst(processes, rank + 7), 7);
    EXPECT_TRUE(Any(processes, rank == 2));
    EXPECT_FALSE(Any(processes, false));
  });
}

TEST(Communicator, NamesTheProcessThatDiffers) {
  ThreadProcesses(3).Run([](Communicator& processes) {
    const bool last = processes.rank() == 2;
    EXPECT_EQ(FirstToDiffer(processes, Bytes("twelve bytes")), -1);
    EXPECT_EQ(FirstToDiffer(processes, Bytes(last ? "twelve byteS"
                                                  : "twelve "
                                                    "bytes")),
              2);
    // Zeros at the end count.
    EXPECT_EQ(FirstToDiffer(processes, Bytes(std::string(last ? 9 : 8, '\0'))),
              2);
    try {
      RequireSame(processes, Bytes(last ? "a" : "b"),
                  {.what = "their corpus", .remedy = "share it"});
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(),
                   "the processes 0 and 2 of 3 differ in their corpus; share "
                   "it");
    }
  });
}

// What training by several processes comes to; they all have the same.
struct Outcome {
  std::vector<double> losses;
  std::vector<float> values, averages;
  double evaluated = 0;
};

ToyOptions Options(int threads) {
  return {.threads = threads,
          .dropout = 0.2f,
          .trainer = {.exponential_smoothing = 0.9f, .shard_rows = 16}};
}

Outcome Trained(int processes, int threads) {
  std::vector<std::optional<Outcome>> outcomes(static_cast<size_t>(processes));
  ThreadProcesses(processes).Run([&](Communicator& communicator) {
    ToyTraining toy(Options(threads), communicator);
    Outcome outcome;
    outcome.losses = toy.Run(40, 0.005);
    outcome.values = toy.Values();
    outcome.averages = toy.trainer().state().averages;
    toy.trainer().CheckAgreement();
    toy.network().Pack();
    outcome.evaluated =
        toy.trainer().Evaluate(toy.network(), toy.corpus()).plain;
    outcomes[static_cast<size_t>(communicator.rank())] = std::move(outcome);
  });
  for (const auto& other : outcomes) {
    EXPECT_EQ(other->losses, outcomes[0]->losses);
    EXPECT_EQ(other->values, outcomes[0]->values);
  }
  return *outcomes[0];
}

TEST(TrainingTogether, TwoProcessesAreTwoThreadsBitForBit) {
  const Outcome processes = Trained(2, 1), threads = Trained(1, 2);
  EXPECT_EQ(processes.losses, threads.losses);
  EXPECT_EQ(processes.values, threads.values);
  EXPECT_EQ(processes.averages, threads.averages);
  EXPECT_EQ(processes.evaluated, threads.evaluated);
}

// Dropout among it: which elements fall depends on the shard, not on who runs
// it.
TEST(TrainingTogether, SeveralProcessesAreOneWithinRounding) {
  const Outcome one = Trained(1, 1);
  for (const auto& [processes, threads] :
       {std::pair(2, 1), {4, 1}, {2, 2}, {1, 4}}) {
    const Outcome several = Trained(processes, threads);
    ASSERT_EQ(several.losses.size(), one.losses.size());
    for (size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(several.losses[i], one.losses[i], 1e-4)
          << processes << " processes of " << threads << ", update " << i;
    }
    // Adam steps as far for a gradient that is rounding alone (of a bias of
    // keys, to which softmax is blind) as for any other: so, the mean.
    double difference = 0;
    for (size_t i = 0; i < one.values.size(); ++i) {
      difference += std::abs(static_cast<double>(several.values[i]) -
                             static_cast<double>(one.values[i]));
    }
    EXPECT_LT(difference / static_cast<double>(one.values.size()), 1e-4);
    EXPECT_NE(several.losses.front(), several.losses.back());
  }
}

// Field case det-scorer-workers.
TEST(TrainingTogether, EvaluatingCountsEachSentenceOnceToTheBit) {
  ToyTraining one(Options(1));
  one.network().Pack();
  const LossSum expected = one.trainer().Evaluate(one.network(), one.corpus());
  ThreadProcesses(3).Run([&](Communicator& processes) {
    ToyTraining toy(Options(2), processes);
    toy.network().Pack();
    const LossSum loss = toy.trainer().Evaluate(toy.network(), toy.corpus());
    EXPECT_EQ(loss.pieces, expected.pieces);
    EXPECT_EQ(loss.plain, expected.plain);
  });
}

TEST(TrainingTogether, UnequalThreadsAndMoreProcessesThanSentencesTrain) {
  ThreadProcesses(3).Run([](Communicator& processes) {
    ToyOptions options = Options(1 + processes.rank());
    options.pairs = 2;
    ToyTraining toy(options, processes);
    const std::vector<double> losses = toy.Run(30, 0.01);
    EXPECT_LT(losses.back(), losses.front());
    toy.trainer().CheckAgreement();
  });
}

TEST(TrainingTogether, ADivergenceIsToldByAllAtTheSameUpdate) {
  ThreadProcesses(2).Run([](Communicator& processes) {
    ToyTraining toy(Options(1), processes);
    const Batch batch = toy.FirstBatch();
    toy.trainer().Update(batch, 1e30);
    EXPECT_THROW(toy.trainer().Update(batch, 0.01), Error);
  });
}

TEST(TrainingTogether, OtherWeightsInOneProcessAreRefused) {
  ThreadProcesses(2).Run([](Communicator& processes) {
    ToyTraining toy(Options(1), processes);
    toy.Run(2, 0.01);
    EXPECT_NO_THROW(toy.trainer().CheckAgreement());
    if (processes.rank() == 1) toy.network().parameters().values()[7] += 1e-6f;
    EXPECT_THROW(toy.trainer().CheckAgreement(), Error);
  });
}

}  // namespace
}  // namespace pipeformer
