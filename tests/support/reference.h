// Slow twins of the kernels of lib/ops: plain loops in double precision, so
// simple that they need no test. Tests compare the kernels with them, and take
// central differences of them for gradients.
#ifndef PIPEFORMER_TESTS_SUPPORT_REFERENCE_H_
#define PIPEFORMER_TESTS_SUPPORT_REFERENCE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/ops/activation.h"
#include "lib/tensor/matrix.h"

namespace pipeformer::reference {

// An owned dense matrix of doubles, zero at first.
struct DoubleMatrix {
  DoubleMatrix() = default;
  DoubleMatrix(int64_t num_rows, int64_t num_cols)
      : rows(num_rows),
        cols(num_cols),
        values(static_cast<size_t>(num_rows * num_cols)) {}
  DoubleMatrix(Matrix m);  // NOLINT: implicit, as widening a number is

  double& operator()(int64_t r, int64_t c) {
    return values[static_cast<size_t>(r * cols + c)];
  }
  double operator()(int64_t r, int64_t c) const {
    return values[static_cast<size_t>(r * cols + c)];
  }

  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;
};

// The sum over all elements of a * b, of equal shapes.
double Dot(const DoubleMatrix& a, const DoubleMatrix& b);

// src [rows, in], weights [out, in], bias [1, out] or empty -> [rows, out].
DoubleMatrix Linear(const DoubleMatrix& src, const DoubleMatrix& weights,
                    const DoubleMatrix& bias);

// src [rows, width], gain and bias [1, width]; epsilon 1e-5.
DoubleMatrix LayerNorm(const DoubleMatrix& src, const DoubleMatrix& gain,
                       const DoubleMatrix& bias);

// The activation of one number, and of every element.
double Activate(double x, Activation activation);
DoubleMatrix Activate(const DoubleMatrix& src, Activation activation);

// src / (1 - probability) where `kept` is not zero, else 0.
DoubleMatrix Drop(const DoubleMatrix& src, const DoubleMatrix& kept,
                  double probability);

// scale * table[ids[r]].
DoubleMatrix Embedding(std::span<const int32_t> ids, const DoubleMatrix& table,
                       double scale);

// Sinusoidal positions [longest, width].
DoubleMatrix Positions(int64_t longest, int64_t width);

// Every pair of x [rows, heads * head_dim] as a complex number, times
// exp(i position / 10000^(pair / (head_dim / 2))).
DoubleMatrix Rotary(const DoubleMatrix& x, std::span<const int32_t> position,
                    int64_t head_dim);

// The rows of `m` that `rows` names.
DoubleMatrix Gather(const DoubleMatrix& m, std::span<const int32_t> rows);

// Attention of one sentence.
struct Sentence {
  DoubleMatrix query;   // [num_queries, heads * head_dim]
  DoubleMatrix keys;    // [num_keys, heads * head_dim]
  DoubleMatrix values;  // [num_keys, heads * head_dim]
};
struct AttentionRule {
  int64_t num_heads = 1;
  double scale = 1;
  // Query t of n stands at the place of key num_keys - n + t.
  bool causal = false;              // sees no key after its place
  int64_t window = 0;               // sees no key farther away; 0: all
  std::vector<double> slopes = {};  // [heads]: score -= slope * distance
  // Added to the scores, [num_queries, num_keys] or that for each head, below
  // each other.
  DoubleMatrix mask = {};
  // Vectors [2 clip + 1, head_dim] of the clipped distance from query to key,
  // added to keys and values.
  DoubleMatrix relative_keys = {}, relative_values = {};
  double dropout = 0;  // with `kept`, see AttentionWeights
  DoubleMatrix kept = {};
};

// Weights before dropout, zero where a query sees no key, [heads * num_queries,
// num_keys], head by head.
DoubleMatrix AttentionWeights(const Sentence& sentence,
                              const AttentionRule& rule);

// dropout(weights) values, [num_queries, heads * head_dim].
DoubleMatrix Attention(const Sentence& sentence, const AttentionRule& rule);

// log(sum(exp(x))) of row r.
double LogSumExp(const DoubleMatrix& x, int64_t r);

// The sum over rows of (1 - e)(lse - x[target]) + e (lse - mean(x)).
double CrossEntropy(const DoubleMatrix& logits,
                    std::span<const int32_t> targets, double label_smoothing);

// The indices of the `count` largest, by a stable sort.
std::vector<int32_t> SelectBest(std::span<const float> row, size_t count);

// One parameter under Adam.
struct AdamValue {
  double value, first_moment, second_moment;
};
struct AdamRule {
  double learning_rate, beta1, beta2, epsilon;
  int64_t step;
};
AdamValue Adam(AdamValue before, double gradient, const AdamRule& rule);

}  // namespace pipeformer::reference

#endif  // PIPEFORMER_TESTS_SUPPORT_REFERENCE_H_
