// The optimiser's update of a range of parameters.
#ifndef PIPEFORMER_LIB_OPS_ADAM_H_
#define PIPEFORMER_LIB_OPS_ADAM_H_

#include <cstdint>

namespace pipeformer {

// Source: Kingma & Ba 2015, algorithm 1.
struct AdamOptions {
  float learning_rate = 0;
  float beta1 = 0.9f;
  float beta2 = 0.98f;
  float epsilon = 1e-9f;
  float gradient_scale = 1;  // clipping: multiplies every gradient
  int64_t step = 1;          // counts from 1, for the bias correction
};

// Buffers of equal length: the parameters, their gradients and Adam's moments.
struct AdamState {
  float* values;
  const float* gradients;
  float* first_moment;
  float* second_moment;
};

// Updates elements [begin, end) of values and both moments.
void AdamUpdate(AdamState state, int64_t begin, int64_t end,
                const AdamOptions& options);

// average += (1 - decay) (values - average) over [begin, end).
void AverageUpdate(const float* values, float decay, int64_t begin, int64_t end,
                   float* average);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_OPS_ADAM_H_
