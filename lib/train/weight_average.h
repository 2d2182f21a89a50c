// The mean of the weights of several checkpoints of one training.
// Source: Vaswani et al. 2017, section 6.1.
#ifndef PIPEFORMER_LIB_TRAIN_WEIGHT_AVERAGE_H_
#define PIPEFORMER_LIB_TRAIN_WEIGHT_AVERAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {

// Sums in double precision, in the order of the calls: the same checkpoints in
// the same order give the same bits.
class WeightAverage {
 public:
  explicit WeightAverage(int64_t size) : sum_(static_cast<size_t>(size), 0) {}

  // Requires: values.size() is the size of the average.
  void Add(std::span<const float> values) {
    Check(values.size() == sum_.size(), "weights of another size");
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += values[i];
    ++count_;
  }

  // The mean of all that was added. Requires: that was something.
  void Mean(std::span<float> mean) const {
    Check(count_ > 0 && mean.size() == sum_.size(), "a mean of nothing");
    for (size_t i = 0; i < sum_.size(); ++i) {
      mean[i] = static_cast<float>(sum_[i] / static_cast<double>(count_));
    }
  }

 private:
  std::vector<double> sum_;
  int64_t count_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TRAIN_WEIGHT_AVERAGE_H_
