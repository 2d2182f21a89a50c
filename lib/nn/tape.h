// What a forward pass leaves behind for its gradient: a flat list of closures
// over coarse operations, replayed in reverse. About ten records a layer.
#ifndef PIPEFORMER_LIB_NN_TAPE_H_
#define PIPEFORMER_LIB_NN_TAPE_H_

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

#include "lib/base/error.h"
#include "lib/nn/profile.h"
#include "lib/tensor/arena.h"

namespace pipeformer {

class Tape {
 public:
  Tape() = default;
  // `profile`, which may be null, receives the times of all steps.
  explicit Tape(Profile* profile) : profile_(profile) {}

  // kShared: as EnterRegion says. kApart: every gradient has memory of its own,
  // which costs more and must change nothing.
  enum class Gradients { kShared, kApart };
  explicit Tape(Gradients memory) : memory_(memory) {}

  Profile* profile() const { return profile_; }

  // Where the gradients of activations lie. Those of a layer are needed only
  // while its backward steps run, so layers share memory: in one stack of
  // layers, each uses the region that its neighbours do not (region 2 s + l % 2
  // for layer l of stack s); what lives longer lies outside all regions.
  Arena& gradients() { return gradients_[region_]; }
  void EnterRegion(size_t region) {
    Check(region < kOutside, "two stacks have regions of two layers each");
    if (memory_ == Gradients::kApart) return;
    region_ = region;
    gradients().Rewind({});
  }
  void LeaveRegions() { region_ = kOutside; }

  // Records one backward step of `op`. The closure is copied to `arena`; it
  // captures by value, so that nothing has to be destroyed.
  template <class Step>
  void Record(Op op, Arena& arena, Step step) {
    static_assert(std::is_trivially_destructible_v<Step>);
    void* place = arena.Bytes(sizeof(Step));
    steps_.push_back({new (place) Step(step),
                      [](void* self) { (*static_cast<Step*>(self))(); }, op});
  }

  // Runs all steps, last first, and forgets them. Gradients stay readable until
  // the next forward pass.
  void Backward() {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      const Timed timed(BackwardTime(profile_, step->op));
      step->run(step->self);
    }
    steps_.clear();
    gradients_[kOutside].Rewind({});
  }

  size_t size() const { return steps_.size(); }

  // Memory held for gradients.
  size_t gradient_bytes() const {
    size_t bytes = 0;
    for (const Arena& arena : gradients_) bytes += arena.capacity();
    return bytes;
  }

 private:
  struct Recorded {
    void* self;
    void (*run)(void*);
    Op op;
  };
  static constexpr size_t kOutside = 4;  // after two regions for each stack

  Profile* profile_ = nullptr;
  Gradients memory_ = Gradients::kShared;
  std::array<Arena, kOutside + 1> gradients_;
  size_t region_ = kOutside;
  std::vector<Recorded> steps_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_TAPE_H_
