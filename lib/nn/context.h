// What a forward pass is given: memory, and, where wanted, a tape, chance and
// a probe. The same layers train, score, decode and inspect; which of these
// pointers are null is all the difference.
#ifndef PIPEFORMER_LIB_NN_CONTEXT_H_
#define PIPEFORMER_LIB_NN_CONTEXT_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "lib/base/random.h"
#include "lib/nn/parameter.h"
#include "lib/nn/tape.h"
#include "lib/ops/attention.h"
#include "lib/ops/dropout.h"
#include "lib/ops/vector_ops.h"
#include "lib/tensor/arena.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// An activation [rows, width] and its gradient; grad.data is null when no
// gradient is wanted. The gradient is not initialised: the first contribution
// sets it, later ones are added.
struct Variable {
  Matrix value;
  Matrix grad;
  bool* has_grad = nullptr;  // whether grad holds a contribution yet; null
                             // where there is no tape

  // How the next contribution is to be written, which grad then holds.
  Write ClaimGrad() const {
    return std::exchange(*has_grad, true) ? Write::kAdd : Write::kSet;
  }

  // Makes grad zero where nothing contributed to it.
  void CompleteGrad() const {
    if (ClaimGrad() == Write::kSet) SetZero(grad);
  }

  int64_t rows() const { return value.rows; }
  int64_t width() const { return value.cols; }
  Variable Columns(int64_t begin, int64_t count) const {
    return {value.Columns(begin, count), grad.Columns(begin, count), has_grad};
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

  // An activation of this pass, uninitialised.
  Variable New(int64_t rows, int64_t cols) {
    const Matrix value = arena.NewMatrix(rows, cols);
    if (tape == nullptr) return {value, {}};
    return {value, tape->gradients().NewMatrix(rows, cols), NewFlag()};
  }

  // The result of an operation that no other will use `x` beside: over its
  // memory, or with memory of its own for the values alone, where those of `x`
  // are needed for the gradient.
  Variable InPlaceOf(Variable x) {
    return {x.value, x.grad, tape == nullptr ? nullptr : NewFlag()};
  }
  Variable WithGradOf(Variable x) {
    const Matrix value = arena.NewMatrix(x.rows(), x.width());
    return {value, x.grad, tape == nullptr ? nullptr : NewFlag()};
  }

  // Where the forward time of `op` is added up, or null.
  double* TimeOf(Op op) const {
    return tape == nullptr ? nullptr : ForwardTime(tape->profile(), op);
  }

  // A dropout that no other use in this pass shares.
  Dropout NextDropout(float probability) {
    if (random == nullptr || probability == 0) return {};
    return {probability, random->Fork(num_draws++).key()};
  }

 private:
  bool* NewFlag() {
    bool* flag = arena.Array<bool>(1);
    *flag = false;
    return flag;
  }
};

// The memory of one layer. Without a tape it frees what the layer left on the
// arena, except its result; with one it lets layers share that of gradients.
class LayerMemory {
 public:
  // `region` as in Tape::EnterRegion.
  LayerMemory(Context& context, size_t region)
      : context_(context), mark_(context.arena.mark()) {
    if (context.tape != nullptr) context.tape->EnterRegion(region);
  }
  ~LayerMemory() {
    if (context_.tape != nullptr) context_.tape->LeaveRegions();
  }
  LayerMemory(const LayerMemory&) = delete;
  LayerMemory& operator=(const LayerMemory&) = delete;

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
