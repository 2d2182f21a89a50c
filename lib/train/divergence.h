// How a training ends that has left the numbers: an error that knows the pairs
// it happened with, for whoever knows where these came from.
#ifndef PIPEFORMER_LIB_TRAIN_DIVERGENCE_H_
#define PIPEFORMER_LIB_TRAIN_DIVERGENCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "lib/base/error.h"
#include "lib/data/batcher.h"
#include "lib/nn/parameter.h"

namespace pipeformer {

class Divergence : public Error {
 public:
  // `what` was not finite ("the gradient of NAME") in update `step`, which was
  // made of the pairs of `batch`.
  Divergence(int64_t step, const std::string& what, Batch batch)
      : Error(ExitCode::kBadData,
              "training diverged at update " + std::to_string(step) + ": " +
                  what +
                  " is not finite; lower --learn-rate, lengthen --lr-warmup "
                  "or set --clip-norm"),
        batch_(std::move(batch)) {}

  const Batch& batch() const { return batch_; }

 private:
  Batch batch_;
};

// The name of the first parameter whose part of `buffer`, which has the size
// of all of them, is not finite; empty where there is none.
std::string FirstNotFinite(const ParameterTable& parameters,
                           std::span<const float> buffer);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_DIVERGENCE_H_
