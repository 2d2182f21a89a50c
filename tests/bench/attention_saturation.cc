// What the width of a head does to the softmax of attention, with and without
// the scale 1 / sqrt(d_k) (Vaswani et al. 2017, section 3.2.1 and footnote 4):
//   attention_saturation [largest d_k]
// Queries, keys and values are normal with unit variance. One JSON record for
// each d_k = 4, 8, ... and scale, over 512 queries of 64 keys:
//   entropy   mean entropy of the weights, nats; log 64 = 4.16 is uniform
//   largest   mean of the largest weight
//   gradient  median over queries of the norm of the scores' gradient, where
//             that of the weights is normal with unit variance
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "lib/base/random.h"
#include "lib/ops/attention.h"
#include "lib/tensor/arena.h"

namespace pipeformer {
namespace {

constexpr int64_t kQueries = 512;
constexpr int64_t kKeys = 64;

// Normal numbers with `deviation`, by the method of Box and Muller.
Matrix Normal(Arena& arena, int64_t rows, int64_t cols, Random random,
              double deviation = 1) {
  const Matrix m = arena.NewMatrix(rows, cols);
  for (int64_t i = 0; i < m.size(); ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
    const double angle = 2 * std::numbers::pi * random.Uniform();
    m.data[i] = static_cast<float>(deviation * radius * std::cos(angle));
  }
  return m;
}

Matrix Zeros(Arena& arena, int64_t rows, int64_t cols) {
  const Matrix m = arena.NewMatrix(rows, cols);
  std::fill_n(m.data, m.size(), 0.0f);
  return m;
}

struct Softmax {
  Matrix weights;   // [kQueries, kKeys]
  Matrix d_scores;  // the same
};

// Runs one head forward and backward.
Softmax Run(Arena& arena, int64_t head_dim, float scale) {
  const Random random(static_cast<uint64_t>(head_dim));
  const Matrix query = Normal(arena, kQueries, head_dim, random.Fork(1));
  const Matrix keys = Normal(arena, kKeys, head_dim, random.Fork(2));
  const Matrix values = Normal(arena, kKeys, head_dim, random.Fork(3));
  const Matrix d_dst = Normal(arena, kQueries, head_dim, random.Fork(4),
                              1 / std::sqrt(static_cast<double>(head_dim)));
  // A mask of zeros, whose gradient is that of the scores.
  const Matrix mask = Zeros(arena, kQueries, kKeys);
  const Matrix d_scores = Zeros(arena, kQueries, kKeys);
  const Matrix weights = arena.NewMatrix(kQueries, PaddedKeys(kKeys));
  AttentionGroup group{.num_queries = kQueries,
                       .num_keys = kKeys,
                       .keys = keys.data,
                       .values = values.data,
                       .weights = weights.data,
                       .mask = mask.data,
                       .d_keys = Zeros(arena, kKeys, head_dim).data,
                       .d_values = Zeros(arena, kKeys, head_dim).data,
                       .d_mask = d_scores.data};
  const AttentionOptions options{
      .scale = scale, .key_stride = head_dim, .value_stride = head_dim};
  float* scratch =
      arena.Array<float>(AttentionScratchSize({&group, 1}, options, head_dim));
  AttentionForward(query, {&group, 1}, options, scratch,
                   arena.NewMatrix(kQueries, head_dim));
  AttentionBackward(query, d_dst, {&group, 1}, options, scratch,
                    Zeros(arena, kQueries, head_dim));
  return {weights.Columns(0, kKeys), d_scores};
}

void Print(const char* name, int64_t head_dim, const Softmax& softmax) {
  double entropy = 0, largest = 0;
  std::vector<double> gradients;
  for (int64_t q = 0; q < kQueries; ++q) {
    const float* weights = softmax.weights.Row(q);
    double squares = 0;
    for (int64_t k = 0; k < kKeys; ++k) {
      const double w = weights[k], g = softmax.d_scores.Row(q)[k];
      if (w > 0) entropy -= w * std::log(w) / kQueries;
      squares += g * g;
    }
    largest += *std::max_element(weights, weights + kKeys) / kQueries;
    gradients.push_back(std::sqrt(squares));
  }
  const auto middle = gradients.begin() + kQueries / 2;
  std::nth_element(gradients.begin(), middle, gradients.end());
  const nlohmann::ordered_json record = {
      {"d_k", head_dim},    {"scale", name},       {"entropy", entropy},
      {"largest", largest}, {"gradient", *middle},
  };
  std::puts(record.dump().c_str());
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  const int64_t largest = argc > 1 ? std::atoll(argv[1]) : 1024;
  Arena arena;
  for (int64_t head_dim = 4; head_dim <= largest; head_dim *= 2) {
    const float root = 1 / std::sqrt(static_cast<float>(head_dim));
    for (const auto& [name, scale] : {std::pair{"sqrt", root}, {"none", 1.f}}) {
      arena.Rewind({});
      Print(name, head_dim, Run(arena, head_dim, scale));
    }
  }
}
