#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

namespace pipeformer::reference {

DoubleMatrix::DoubleMatrix(Matrix m) : DoubleMatrix(m.rows, m.cols) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) (*this)(r, c) = m.Row(r)[c];
  }
}

double Dot(const DoubleMatrix& a, const DoubleMatrix& b) {
  return std::inner_product(a.values.begin(), a.values.end(), b.values.begin(),
                            0.0);
}

DoubleMatrix Linear(const DoubleMatrix& src, const DoubleMatrix& weights,
                    const DoubleMatrix& bias) {
  DoubleMatrix dst(src.rows, weights.rows);
  for (int64_t r = 0; r < dst.rows; ++r) {
    for (int64_t o = 0; o < dst.cols; ++o) {
      double sum = bias.values.empty() ? 0 : bias(0, o);
      for (int64_t i = 0; i < src.cols; ++i) sum += src(r, i) * weights(o, i);
      dst(r, o) = sum;
    }
  }
  return dst;
}

DoubleMatrix LayerNorm(const DoubleMatrix& src, const DoubleMatrix& gain,
                       const DoubleMatrix& bias) {
  DoubleMatrix dst(src.rows, src.cols);
  const double width = static_cast<double>(src.cols);
  for (int64_t r = 0; r < src.rows; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < src.cols; ++c) mean += src(r, c) / width;
    for (int64_t c = 0; c < src.cols; ++c) {
      variance += (src(r, c) - mean) * (src(r, c) - mean) / width;
    }
    for (int64_t c = 0; c < src.cols; ++c) {
      const double normal = (src(r, c) - mean) / std::sqrt(variance + 1e-5);
      dst(r, c) = normal * gain(0, c) + bias(0, c);
    }
  }
  return dst;
}

double Activate(double x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::kSwish:
      return x / (1 + std::exp(-x));
    case Activation::kRelu:
      break;
  }
  return std::max(x, 0.0);
}

DoubleMatrix Activate(const DoubleMatrix& src, Activation activation) {
  DoubleMatrix dst = src;
  for (double& x : dst.values) x = Activate(x, activation);
  return dst;
}

DoubleMatrix Drop(const DoubleMatrix& src, const DoubleMatrix& kept,
                  double probability) {
  DoubleMatrix dst = src;
  for (size_t i = 0; i < dst.values.size(); ++i) {
    dst.values[i] *= kept.values[i] != 0 ? 1 / (1 - probability) : 0;
  }
  return dst;
}

DoubleMatrix Embedding(std::span<const int32_t> ids, const DoubleMatrix& table,
                       double scale) {
  DoubleMatrix dst = Gather(table, ids);
  for (double& x : dst.values) x *= scale;
  return dst;
}

DoubleMatrix Positions(int64_t longest, int64_t width) {
  DoubleMatrix dst(longest, width);
  for (int64_t p = 0; p < longest; ++p) {
    for (int64_t c = 0; c < width; ++c) {
      const double pair = static_cast<double>(c / 2);
      const double angle =
          static_cast<double>(p) /
          std::pow(10000, 2 * pair / static_cast<double>(width));
      dst(p, c) = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  }
  return dst;
}

DoubleMatrix Gather(const DoubleMatrix& m, std::span<const int32_t> rows) {
  DoubleMatrix dst(static_cast<int64_t>(rows.size()), m.cols);
  for (int64_t r = 0; r < dst.rows; ++r) {
    for (int64_t c = 0; c < m.cols; ++c) {
      dst(r, c) = m(rows[static_cast<size_t>(r)], c);
    }
  }
  return dst;
}

DoubleMatrix Rotary(const DoubleMatrix& x, std::span<const int32_t> position,
                    int64_t head_dim) {
  DoubleMatrix dst(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.cols; c += 2) {
      const double pair = static_cast<double>(c % head_dim / 2);
      const double frequency =
          std::pow(10000, -pair / (static_cast<double>(head_dim) / 2));
      const std::complex<double> turned =
          std::complex<double>(x(r, c), x(r, c + 1)) *
          std::polar(1.0, position[static_cast<size_t>(r)] * frequency);
      dst(r, c) = turned.real();
      dst(r, c + 1) = turned.imag();
    }
  }
  return dst;
}

namespace {

// The row of the relative vectors for key j seen from query t.
int64_t RelativeRow(const DoubleMatrix& vectors, int64_t distance) {
  const int64_t clip = (vectors.rows - 1) / 2;
  return std::clamp(distance, -clip, clip) + clip;
}

// The score of key j for query t in a head; minus infinity hides it.
double Score(const Sentence& s, const AttentionRule& rule, int64_t head,
             int64_t t, int64_t j) {
  const int64_t distance = j - (s.keys.rows - s.query.rows + t);
  if (rule.causal && distance > 0) return -HUGE_VAL;
  if (rule.window > 0 && std::abs(distance) > rule.window) return -HUGE_VAL;
  const int64_t head_dim = s.query.cols / rule.num_heads;
  double score = 0;
  for (int64_t i = 0; i < head_dim; ++i) {
    const int64_t c = head * head_dim + i;
    double key = s.keys(j, c);
    if (rule.relative_keys.rows > 0) {
      key += rule.relative_keys(RelativeRow(rule.relative_keys, distance), i);
    }
    score += rule.scale * s.query(t, c) * key;
  }
  if (!rule.slopes.empty()) {
    score -= rule.slopes[static_cast<size_t>(head)] *
             static_cast<double>(std::abs(distance));
  }
  if (rule.mask.rows > 0) {
    score += rule.mask((head * s.query.rows + t) % rule.mask.rows, j);
  }
  return score;
}

}  // namespace

DoubleMatrix AttentionWeights(const Sentence& s, const AttentionRule& rule) {
  const int64_t n = s.query.rows, m = s.keys.rows;
  DoubleMatrix weights(rule.num_heads * n, m);
  for (int64_t row = 0; row < weights.rows; ++row) {
    double largest = -HUGE_VAL, sum = 0;
    for (int64_t j = 0; j < m; ++j) {
      weights(row, j) = Score(s, rule, row / n, row % n, j);
      largest = std::max(largest, weights(row, j));
    }
    for (int64_t j = 0; j < m; ++j) {
      weights(row, j) =
          largest == -HUGE_VAL ? 0 : std::exp(weights(row, j) - largest);
      sum += weights(row, j);
    }
    for (int64_t j = 0; j < m && sum > 0; ++j) weights(row, j) /= sum;
  }
  return weights;
}

DoubleMatrix Attention(const Sentence& s, const AttentionRule& rule) {
  DoubleMatrix weights = AttentionWeights(s, rule);
  if (rule.dropout > 0) weights = Drop(weights, rule.kept, rule.dropout);
  const int64_t head_dim = s.query.cols / rule.num_heads;
  const DoubleMatrix& relative = rule.relative_values;
  DoubleMatrix dst(s.query.rows, s.query.cols);
  for (int64_t t = 0; t < dst.rows; ++t) {
    for (int64_t c = 0; c < dst.cols; ++c) {
      const int64_t row = c / head_dim * dst.rows + t;
      for (int64_t j = 0; j < s.values.rows; ++j) {
        double value = s.values(j, c);
        if (relative.rows > 0) {
          const int64_t distance = j - (s.keys.rows - dst.rows + t);
          value += relative(RelativeRow(relative, distance), c % head_dim);
        }
        dst(t, c) += weights(row, j) * value;
      }
    }
  }
  return dst;
}

double LogSumExp(const DoubleMatrix& x, int64_t r) {
  double max = x(r, 0), sum = 0;
  for (int64_t c = 0; c < x.cols; ++c) max = std::max(max, x(r, c));
  for (int64_t c = 0; c < x.cols; ++c) sum += std::exp(x(r, c) - max);
  return max + std::log(sum);
}

double CrossEntropy(const DoubleMatrix& logits,
                    std::span<const int32_t> targets, double label_smoothing) {
  double loss = 0;
  for (int64_t r = 0; r < logits.rows; ++r) {
    const double lse = LogSumExp(logits, r);
    double mean = 0;
    for (int64_t c = 0; c < logits.cols; ++c) mean += logits(r, c);
    mean /= static_cast<double>(logits.cols);
    loss += (1 - label_smoothing) *
                (lse - logits(r, targets[static_cast<size_t>(r)])) +
            label_smoothing * (lse - mean);
  }
  return loss;
}

std::vector<int32_t> SelectBest(std::span<const float> row, size_t count) {
  std::vector<int32_t> ids(row.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
  });
  ids.resize(count);
  return ids;
}

AdamValue Adam(AdamValue x, double gradient, const AdamRule& rule) {
  const double step = static_cast<double>(rule.step);
  x.first_moment = rule.beta1 * x.first_moment + (1 - rule.beta1) * gradient;
  x.second_moment =
      rule.beta2 * x.second_moment + (1 - rule.beta2) * gradient * gradient;
  const double mean = x.first_moment / (1 - std::pow(rule.beta1, step));
  const double square = x.second_moment / (1 - std::pow(rule.beta2, step));
  x.value -= rule.learning_rate * mean / (std::sqrt(square) + rule.epsilon);
  return x;
}

}  // namespace pipeformer::reference
