// Golden values of PyTorch's layers (data/layers_golden.json) and their way
// into the network's layout: padded tensors (position, sentence, width) become
// the rows of the real positions, one sentence after another.
#ifndef PIPEFORMER_TESTS_NN_GOLDEN_H_
#define PIPEFORMER_TESTS_NN_GOLDEN_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lib/nn/context.h"
#include "lib/nn/parameter.h"

namespace pipeformer {

using Json = nlohmann::json;

// The case of the golden file with this id. Throws when there is none.
Json GoldenCase(const std::string& id);

// All numbers of nested lists in order; "NaN" is one.
std::vector<double> Flat(const Json& nested);

// Where the rows of a padded tensor (positions, sentences, width) lie. "All
// rows" are those of a sentence, padded ones too, sentence by sentence; "real
// rows" are the same without the padded ones.
class PaddedLayout {
 public:
  // For tensors of the first two dimensions of `tensor`. `padding` is a key
  // padding mask (sentences, positions), true where padded, or null.
  PaddedLayout(const Json& tensor, const Json& padding);

  std::vector<double> AllRows(const Json& tensor) const;
  std::vector<double> RealRows(const Json& tensor) const;

  // `rows`, all of them, with zeros in the padded ones.
  std::vector<double> ClearPadded(std::vector<double> rows) const;

  // The real rows among all `rows`.
  std::vector<double> DropPadded(const std::vector<double>& rows) const;

  bool IsReal(int64_t sentence, int64_t position) const {
    return real_[static_cast<size_t>(sentence * positions_ + position)];
  }
  bool HasPadding() const { return offsets_.back() < sentences_ * positions_; }
  int64_t positions() const { return positions_; }
  int64_t sentences() const { return sentences_; }
  std::span<const int32_t> offsets() const { return offsets_; }

 private:
  int64_t positions_, sentences_;
  std::vector<bool> real_;  // [sentences, positions]
  std::vector<int32_t> offsets_{0};
};

// Allocates `table` and sets each parameter from `params` by its name, without
// the first `prefix` characters. Fails the test on a missing name or a wrong
// size, and when `params` holds more than the table.
void SetParameters(const Json& params, size_t prefix, ParameterTable& table);

// Holds when |actual - expected| <= tolerance everywhere and the sizes agree.
testing::AssertionResult AreNear(std::span<const double> actual,
                                 std::span<const double> expected,
                                 double tolerance);
testing::AssertionResult AreNear(Matrix actual,
                                 std::span<const double> expected,
                                 double tolerance);

// A forward pass on a tape and the way back, for gradients of a weighted sum.
class TapedPass {
 public:
  explicit TapedPass(const ParameterTable& table)
      : gradients_(static_cast<size_t>(table.size())) {
    context.tape = &tape;
    context.gradients = gradients_.data();
  }

  // A leaf [values / width, width].
  Variable Input(std::span<const double> values, int64_t width);

  // Gradients of the sum of `loss_weights` times y.
  void Backward(Variable y, std::span<const double> loss_weights);

  Arena arena;
  Tape tape;
  Context context{.arena = arena};

  float* gradients() { return gradients_.data(); }

 private:
  std::vector<float> gradients_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_NN_GOLDEN_H_
