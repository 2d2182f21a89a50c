#include "tests/nn/slow_twin.h"

#include <algorithm>
#include <cmath>

namespace pipeformer {
namespace {

// x [., in] W^T + b.
DoubleRows Linear(const DoubleRows& x, int64_t in, const DoubleRows& weight,
                  const DoubleRows& bias) {
  const auto width = static_cast<size_t>(in);
  DoubleRows y;
  for (size_t r = 0; r < x.size() / width; ++r) {
    for (size_t o = 0; o < bias.size(); ++o) {
      double sum = bias[o];
      for (size_t i = 0; i < width; ++i) {
        sum += x[r * width + i] * weight[o * width + i];
      }
      y.push_back(sum);
    }
  }
  return y;
}

DoubleRows LayerNorm(const DoubleRows& x, const DoubleRows& gain,
                     const DoubleRows& bias) {
  const size_t width = gain.size();
  const auto n = static_cast<double>(width);
  DoubleRows y(x.size());
  for (size_t begin = 0; begin < x.size(); begin += width) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < width; ++i) mean += x[begin + i] / n;
    for (size_t i = 0; i < width; ++i) {
      variance += (x[begin + i] - mean) * (x[begin + i] - mean) / n;
    }
    for (size_t i = 0; i < width; ++i) {
      const double unit = (x[begin + i] - mean) / std::sqrt(variance + 1e-5);
      y[begin + i] = unit * gain[i] + bias[i];
    }
  }
  return y;
}

DoubleRows Add(const DoubleRows& a, const DoubleRows& b) {
  DoubleRows sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>());
  return sum;
}

// One query's weights over `positions` keys; all zero where it sees none.
//   query, keys  pointers to the head's columns in rows of `stride`
DoubleRows Weights(const double* query, const double* keys, int64_t positions,
                   int64_t stride, int64_t head_dim,
                   const std::function<bool(int64_t)>& sees) {
  DoubleRows weights(static_cast<size_t>(positions));
  double sum = 0;
  for (int64_t j = 0; j < positions; ++j) {
    if (!sees(j)) continue;
    double score = 0;
    for (int64_t i = 0; i < head_dim; ++i) {
      score += query[i] * keys[j * stride + i];
    }
    weights[static_cast<size_t>(j)] =
        std::exp(score / std::sqrt(static_cast<double>(head_dim)));
    sum += weights[static_cast<size_t>(j)];
  }
  for (double& w : weights) w = sum == 0 ? 0 : w / sum;
  return weights;
}

}  // namespace

DoubleRows SlowSelfAttention(const DoubleParameters& parameters,
                             const SlowShape& shape, const DoubleRows& x,
                             const Sees& sees) {
  const int64_t d = shape.d_model;
  const int64_t head_dim = d / shape.num_heads;
  const int64_t positions = static_cast<int64_t>(x.size()) / d;
  const auto get = [&](const char* name) -> const DoubleRows& {
    return parameters.at(shape.prefix + name);
  };
  const DoubleRows projected =
      Linear(x, d, get("in_proj_weight"), get("in_proj_bias"));
  DoubleRows mixed(x.size());
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t column = 0; column < d; column += head_dim) {
      const double* row = projected.data() + column;
      const DoubleRows weights =
          Weights(row + t * 3 * d, row + d, positions, 3 * d, head_dim,
                  [&](int64_t j) { return sees(t, j); });
      for (int64_t j = 0; j < positions; ++j) {
        for (int64_t i = 0; i < head_dim; ++i) {
          mixed[static_cast<size_t>(t * d + column + i)] +=
              weights[static_cast<size_t>(j)] * row[j * 3 * d + 2 * d + i];
        }
      }
    }
  }
  return Linear(mixed, d, get("out_proj.weight"), get("out_proj.bias"));
}

DoubleRows SlowEncoderLayer(const DoubleParameters& parameters,
                            const SlowShape& shape, const DoubleRows& x,
                            const Sees& sees) {
  const auto get = [&](const char* name) -> const DoubleRows& {
    return parameters.at(name);
  };
  const DoubleRows attended = SlowSelfAttention(
      parameters, shape, LayerNorm(x, get("norm1.weight"), get("norm1.bias")),
      sees);
  const DoubleRows middle = Add(x, attended);
  DoubleRows hidden =
      Linear(LayerNorm(middle, get("norm2.weight"), get("norm2.bias")),
             shape.d_model, get("linear1.weight"), get("linear1.bias"));
  for (double& h : hidden) h = std::max(0.0, h);
  const auto ffn_dim = static_cast<int64_t>(get("linear1.bias").size());
  return Add(middle, Linear(hidden, ffn_dim, get("linear2.weight"),
                            get("linear2.bias")));
}

DoubleRows CentralDifferences(const std::function<double()>& loss,
                              DoubleRows& x) {
  constexpr double kStep = 1e-5;
  DoubleRows gradient;
  for (double& value : x) {
    const double before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    gradient.push_back((above - loss()) / (2 * kStep));
    value = before;
  }
  return gradient;
}

}  // namespace pipeformer
