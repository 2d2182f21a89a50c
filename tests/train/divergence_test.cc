#include "lib/train/divergence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/train/trainer.h"
#include "tests/train/toy_training.h"

namespace pipeformer {
namespace {

// The divergence of `run`: its message begins with `what`.
Divergence DivergenceOf(const std::function<void()>& run,
                        const std::string& what) {
  try {
    run();
  } catch (const Divergence& divergence) {
    EXPECT_EQ(divergence.code(), ExitCode::kBadData);
    EXPECT_EQ(std::string(divergence.what())
                  .find("training diverged at update " + what +
                        " is not finite; lower --learn-rate"),
              0u)
        << divergence.what();
    return divergence;
  }
  ADD_FAILURE() << "no divergence: " << what;
  return {0, "", {}};
}

// Field case nan-silent: the update that left the weights without numbers is
// told, not the next one, and nothing is changed any more.
TEST(Divergence, IsAnErrorAndLeavesTheModel) {
  ToyTraining toy({.trainer = {.exponential_smoothing = 0.9f}});
  const Batch first = {1, 2, 3}, second = {4, 5};
  toy.trainer().Update(first, 1e39);
  const std::vector<float> values = toy.Values();
  const OptimizerState before = toy.trainer().state();
  const std::string what = "1: the parameter embedding.weight";
  EXPECT_EQ(
      DivergenceOf([&] { toy.trainer().Update(second, 0.01); }, what).batch(),
      first);
  EXPECT_EQ(DivergenceOf([&] { toy.trainer().CheckFinite(); }, what).batch(),
            first);
  // Byte for byte: no NaN equals itself.
  EXPECT_EQ(std::memcmp(toy.Values().data(), values.data(), values.size() * 4),
            0);
  const OptimizerState& after = toy.trainer().state();
  EXPECT_EQ(after.step, before.step);
  EXPECT_EQ(after.first_moment, before.first_moment);
  EXPECT_EQ(after.second_moment, before.second_moment);
}

// Weights that are numbers, though too large ones.
TEST(Divergence, ALossThatIsNotFiniteIsNamed) {
  ToyTraining toy({});
  toy.network().parameters().ForEachParameter([](Parameter& p) {
    if (p.name == "output.bias") p.value.data[3] = 3e38f;
    if (p.name == "embedding.weight") {
      std::fill_n(p.value.data, p.size(), 3e38f);
    }
  });
  const Batch batch = {7, 3};
  const auto update = [&] { toy.trainer().Update(batch, 0.01); };
  EXPECT_EQ(DivergenceOf(update, "1: the loss").batch(), batch);
}

TEST(Divergence, AMomentThatIsNotFiniteIsNamed) {
  ToyTraining toy({});
  toy.trainer().Update({1}, 0.01);
  EXPECT_NO_THROW(toy.trainer().CheckFinite());
  toy.trainer().state().second_moment.back() = INFINITY;
  std::string last;
  toy.network().parameters().ForEachParameter(
      [&](const Parameter& p) { last = p.name; });
  DivergenceOf([&] { toy.trainer().CheckFinite(); },
               "1: Adam's second moment of " + last);
}

}  // namespace
}  // namespace pipeformer
