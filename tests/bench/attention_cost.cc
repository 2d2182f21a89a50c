// Time and memory of multi-head self-attention against the length n of a
// sequence and the width d, one thread:
//   attention_cost [largest n] [largest d]
// Heads are 64 wide, as in the paper, so that their number grows with d. One
// JSON record for each n = 128, 256, ... and d = 64, 128, ...:
//   attention_seconds  softmax(q k^T) v of all heads, forward
//   layer_seconds      the whole layer, projections and backward included
//   layer_bytes        what forward keeps for backward, gradients included
// Times are the shortest of several runs, in seconds of processor time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/nn/attention.h"
#include "lib/tensor/arena.h"

namespace pipeformer {
namespace {

constexpr int64_t kHeadDim = 64;
constexpr int kRuns = 3;
constexpr double kSeconds = 0.05;  // at least so long for each figure

double ProcessorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// The shortest of several runs; the first one only warms.
template <class Function>
double Shortest(Function run) {
  run();
  double shortest = INFINITY, sum = 0;
  for (int i = 0; i < kRuns || sum < kSeconds; ++i) {
    const double start = ProcessorSeconds();
    run();
    const double taken = ProcessorSeconds() - start;
    shortest = std::min(shortest, taken);
    sum += taken;
  }
  return shortest;
}

Matrix Uniform(Arena& arena, int64_t rows, int64_t cols, Random random) {
  const Matrix m = arena.NewMatrix(rows, cols);
  for (int64_t i = 0; i < m.size(); ++i) {
    m.data[i] = static_cast<float>(2 * random.Uniform() - 1);
  }
  return m;
}

double AttentionSeconds(int64_t length, int64_t width) {
  Arena arena;
  const Matrix query = Uniform(arena, length, width, Random(1));
  const Matrix keys = Uniform(arena, length, width, Random(2));
  const Matrix values = Uniform(arena, length, width, Random(3));
  const Matrix dst = arena.NewMatrix(length, width);
  const AttentionGroup group{.num_queries = length,
                             .num_keys = length,
                             .keys = keys.data,
                             .values = values.data};
  const AttentionOptions options{.num_heads = width / kHeadDim,
                                 .scale = 0.125f,
                                 .key_stride = width,
                                 .value_stride = width};
  float* scratch =
      arena.Array<float>(AttentionScratchSize({&group, 1}, options, kHeadDim));
  return Shortest([&] {
    AttentionForward(query, {&group, 1}, options, scratch, dst);
  });
}

// The layer with one sequence, trained on.
class Layer {
 public:
  Layer(int64_t length, int64_t width)
      : layer_(table_, "", {.d_model = width, .num_heads = width / kHeadDim}),
        length_(length),
        width_(width) {
    table_.Allocate();
    table_.Initialize(1);
    gradients_.resize(static_cast<size_t>(table_.size()));
  }

  // Forward and backward; gives the bytes that lay on the arena in between.
  size_t Run(Arena& arena) {
    arena.Rewind({});
    Tape tape;
    Context context{
        .arena = arena, .tape = &tape, .gradients = gradients_.data()};
    const Variable x = context.New(length_, width_);
    std::fill_n(x.value.data, x.value.size(), 0.1f);
    const int32_t offsets[] = {0, static_cast<int32_t>(length_)};
    const Variable y = layer_(context, {.query = x,
                                        .key = x,
                                        .value = x,
                                        .query_offsets = offsets,
                                        .key_offsets = offsets});
    const size_t bytes = arena.mark().used;
    std::fill_n(y.grad.data, y.grad.size(), 1.0f);
    *y.has_grad = true;
    tape.Backward();
    return bytes;
  }

 private:
  ParameterTable table_;
  MultiHeadAttention layer_;
  std::vector<float> gradients_;
  int64_t length_, width_;
};

void Print(int64_t length, int64_t width) {
  Layer layer(length, width);
  Arena arena;
  layer.Run(arena);
  // In one piece, the place of the arena's mark is the number of bytes.
  const size_t capacity = arena.capacity();
  arena = Arena();
  arena.Bytes(capacity);
  size_t bytes = 0;
  const double seconds = Shortest([&] { bytes = layer.Run(arena); });
  const nlohmann::ordered_json record = {
      {"n", length},
      {"d", width},
      {"attention_seconds", AttentionSeconds(length, width)},
      {"layer_seconds", seconds},
      {"layer_bytes", bytes}};
  std::puts(record.dump().c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  const int64_t largest_length = argc > 1 ? std::atoll(argv[1]) : 2048;
  const int64_t largest_width = argc > 2 ? std::atoll(argv[2]) : 512;
  for (int64_t width = kHeadDim; width <= largest_width; width *= 2) {
    for (int64_t length = 128; length <= largest_length; length *= 2) {
      Print(length, width);
    }
  }
}
