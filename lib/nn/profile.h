// Where the time of a training step goes, by kind of operation: for those who
// make it faster. Without a profile nothing is measured.
#ifndef PIPEFORMER_LIB_NN_PROFILE_H_
#define PIPEFORMER_LIB_NN_PROFILE_H_

#include <array>
#include <chrono>
#include <cstddef>

namespace pipeformer {

enum class Op {
  kEmbedding,
  kLinear,
  kAttention,
  kNorm,
  kActivation,
  kResidual,
  kLoss,
  kOptimiser,
  kOther
};

inline constexpr std::array kOpNames = {"embedding", "linear",     "attention",
                                        "norm",      "activation", "residual",
                                        "loss",      "optimiser",  "other"};

// Seconds spent so far. Used by one thread.
struct Profile {
  std::array<double, kOpNames.size()> forward = {};
  std::array<double, kOpNames.size()> backward = {};
};

// Adds the time from its construction to its end to one number of a profile.
class Timed {
 public:
  // `seconds` may be null.
  explicit Timed(double* seconds) : seconds_(seconds) {
    if (seconds != nullptr) start_ = Clock::now();
  }
  ~Timed() {
    if (seconds_ == nullptr) return;
    *seconds_ += std::chrono::duration<double>(Clock::now() - start_).count();
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double* seconds_;
  Clock::time_point start_;
};

// The forward time of `op`, null without a profile.
inline double* ForwardTime(Profile* profile, Op op) {
  return profile == nullptr ? nullptr
                            : &profile->forward[static_cast<size_t>(op)];
}

inline double* BackwardTime(Profile* profile, Op op) {
  return profile == nullptr ? nullptr
                            : &profile->backward[static_cast<size_t>(op)];
}

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_PROFILE_H_
