// What a forward pass is given: memory, and, where wanted, a tape, chance and
// a probe. The same layers train, score, decode and inspect; which of these
// pointers are null is all the difference.
#ifndef PIPEFORMER_LIB_NN_CONTEXT_H_
#define PIPEFORMER_LIB_NN_CONTEXT_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/random.h"
#include "lib/nn/parameter.h"
#include "lib/nn/tape.h"
#include "lib/ops/attention.h"
#include "lib/ops/dropout.h"
#include "lib/tensor/arena.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// An activation [rows, width] and its gradient; grad.data is null when no
// gradient is wanted.
struct Variable {
  Matrix value;
  Matrix grad;

  int64_t rows() const { return value.rows; }
  int64_t width() const { return value.cols; }
  Variable Columns(int64_t begin, int64_t count) const {
    return {value.Columns(begin, count), grad.Columns(begin, count)};
  }
};

// Where an attention stands in the network.
enum class AttentionKind { kEncoder, kDecoder, kCross };

// Sees the weights of every attention that runs, [heads, queries, padded keys]
// a group (see AttentionWeightsSize), before dropout. While a tape records it
// may give a group `d_weights`, which then take part in the gradient.
class AttentionProbe {
 public:
  virtual ~AttentionProbe() = default;
  virtual void See(AttentionKind kind, int layer,
                   std::span<AttentionGroup> groups) = 0;
};

struct Context {
  Arena& arena;
  Tape* tape = nullptr;            // null: nothing is recorded
  float* gradients = nullptr;      // all parameters; null when tape is null
  const Random* random = nullptr;  // null: no dropout
  AttentionProbe* probe = nullptr;
  uint64_t num_draws = 0;  // uses of chance so far, names the next one

  // An activation of this pass, uninitialised; its gradient is zero.
  Variable New(int64_t rows, int64_t cols) {
    Variable x{arena.NewMatrix(rows, cols), {}};
    if (tape != nullptr) {
      x.grad = arena.NewMatrix(rows, cols);
      std::fill_n(x.grad.data, x.grad.size(), 0.0f);
    }
    return x;
  }

  // A dropout that no other use in this pass shares.
  Dropout NextDropout(float probability) {
    if (random == nullptr || probability == 0) return {};
    return {probability, random->Fork(num_draws++).key()};
  }
};

// Frees what a layer left on the arena, except its result. Does nothing while
// a tape needs it all.
class Scratch {
 public:
  explicit Scratch(Context& context)
      : context_(context), mark_(context.arena.mark()) {}

  // Frees everything since construction and moves `x` [rows, width], dense,
  // to its place.
  Variable Keep(Variable x) {
    if (context_.tape != nullptr) return x;
    context_.arena.Rewind(mark_);
    Variable kept = context_.New(x.rows(), x.width());
    std::copy_n(x.value.data, x.value.size(), kept.value.data);
    return kept;
  }

 private:
  Context& context_;
  Arena::Mark mark_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_CONTEXT_H_
