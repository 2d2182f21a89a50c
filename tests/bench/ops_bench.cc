// Times the kernels at the shapes of training and decoding, one thread:
//   bazel run //tests/bench:ops_bench -- --benchmark_filter=Attention
// `flops` counts multiplications and additions of the products alone, `bytes`
// every float that must be read or written once.
#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "lib/ops/activation.h"
#include "lib/ops/adam.h"
#include "lib/ops/attention.h"
#include "lib/ops/attention_step.h"
#include "lib/ops/dropout.h"
#include "lib/ops/layer_norm.h"
#include "lib/ops/linear.h"
#include "tests/support/attention_batch.h"
#include "tests/support/panel_cross_entropy.h"
#include "tests/support/test_matrix.h"

namespace pipeformer {
namespace {

TestMatrix Uniform(int64_t rows, int64_t cols) {
  return TestMatrix::Uniform(rows, cols, Random(1));
}

void CountRate(benchmark::State& state, const char* name, double each) {
  state.counters[name] =
      benchmark::Counter(each, benchmark::Counter::kIsIterationInvariantRate);
}

void CountRows(benchmark::State& state, int64_t rows) {
  state.SetItemsProcessed(state.iterations() * rows);
}

// Arguments of the Linear benchmarks: rows, in, out.
double LinearFlops(const benchmark::State& state) {
  return 2.0 *
         static_cast<double>(state.range(0) * state.range(1) * state.range(2));
}

void LinearShapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "in", "out"});
  for (const int64_t rows : {64, 1024}) {
    b->Args({rows, 128, 384})->Args({rows, 256, 128});
    b->Args({rows, 128, 8000})->Args({rows, 512, 2048});
  }
}

enum class Form { kPlain, kPacked };

void ForwardLinear(benchmark::State& state, Form form) {
  const int64_t rows = state.range(0), in = state.range(1);
  const int64_t out = state.range(2);
  const TestMatrix src = Uniform(rows, in), weights = Uniform(out, in);
  const TestMatrix bias = Uniform(1, out), dst(rows, out);
  const PackedWeights packed(weights);
  for (auto _ : state) {
    LinearForward(src, weights, form == Form::kPacked ? &packed : nullptr,
                  bias.view().data, dst);
  }
  CountRows(state, rows);
  CountRate(state, "flops", LinearFlops(state));
}
BENCHMARK_CAPTURE(ForwardLinear, plain, Form::kPlain)->Apply(LinearShapes);
BENCHMARK_CAPTURE(ForwardLinear, packed, Form::kPacked)->Apply(LinearShapes);
BENCHMARK_CAPTURE(ForwardLinear, packed_step, Form::kPacked)
    ->ArgNames({"rows", "in", "out"})
    ->Args({1, 128, 384})
    ->Args({1, 128, 8000})
    ->Args({5, 128, 8000});

void BackwardLinearSource(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1);
  const int64_t out = state.range(2);
  const TestMatrix weights = Uniform(out, in), d_dst = Uniform(rows, out);
  const TestMatrix d_src(rows, in);
  for (auto _ : state) LinearBackward({}, weights, d_dst, {.d_src = d_src});
  CountRows(state, rows);
  CountRate(state, "flops", LinearFlops(state));
}
BENCHMARK(BackwardLinearSource)->Apply(LinearShapes);

void BackwardLinearWeights(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1);
  const int64_t out = state.range(2);
  const TestMatrix src = Uniform(rows, in), d_dst = Uniform(rows, out);
  const TestMatrix weights = Uniform(out, in);
  const TestMatrix d_weights(out, in), d_bias(1, out);
  for (auto _ : state) {
    LinearBackward(src, weights, d_dst,
                   {.d_weights = d_weights, .d_bias = d_bias.view().data});
  }
  CountRows(state, rows);
  CountRate(state, "flops", LinearFlops(state));
}
BENCHMARK(BackwardLinearWeights)->Apply(LinearShapes);

// Arguments: length, head_dim, heads; about a thousand rows of sentences.
AttentionBatch MakeBatch(const benchmark::State& state, float dropout) {
  const int64_t length = state.range(0);
  return AttentionBatch(
      {.num_heads = state.range(2),
       .head_dim = state.range(1),
       .sentences = std::vector<SentenceLengths>(
           static_cast<size_t>(1024 / length), {length, length}),
       .dropout = {dropout, 7}});
}

void CountAttention(benchmark::State& state, const AttentionBatch& batch,
                    double products) {
  const Matrix query = batch.query.view();
  CountRows(state, query.rows);
  CountRate(state, "flops",
            2 * products * static_cast<double>(query.size() * state.range(0)));
}

void AttentionShapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"length", "head_dim", "heads"});
  for (const int64_t length : {13, 60}) {
    b->Args({length, 32, 4})->Args({length, 64, 8});
  }
}

void ForwardAttention(benchmark::State& state, float dropout) {
  AttentionBatch batch = MakeBatch(state, dropout);
  const TestMatrix dst(batch.query.view().rows, batch.query.view().cols);
  float* scratch = batch.Scratch();
  for (auto _ : state) {
    AttentionForward(batch.query, batch.groups, batch.options, scratch, dst);
  }
  CountAttention(state, batch, 2);
}
BENCHMARK_CAPTURE(ForwardAttention, plain, 0.0f)->Apply(AttentionShapes);
BENCHMARK_CAPTURE(ForwardAttention, dropout, 0.1f)->Apply(AttentionShapes);

void BackwardAttention(benchmark::State& state, float dropout) {
  AttentionBatch batch = MakeBatch(state, dropout);
  const TestMatrix dst = batch.Forward();
  float* scratch = batch.Scratch();
  for (auto _ : state) {
    AttentionBackward(batch.query, dst, batch.groups, batch.options, scratch,
                      batch.d_query);
  }
  CountAttention(state, batch, 4);
}
BENCHMARK_CAPTURE(BackwardAttention, plain, 0.0f)->Apply(AttentionShapes);
BENCHMARK_CAPTURE(BackwardAttention, dropout, 0.1f)->Apply(AttentionShapes);

// The self attention of 64 hypotheses, one step, each of its own sentence.
void StepAttention(benchmark::State& state) {
  constexpr int64_t kSentences = 64;
  const int64_t length = state.range(0);
  const int64_t width = state.range(1) * state.range(2);
  const int64_t num_blocks = PaddedKeys(length) / kKeyBlock;
  const TestMatrix query = Uniform(kSentences, width), dst(kSentences, width);
  const TestMatrix keys = Uniform(length, width);
  const TestMatrix memory(kSentences * num_blocks, StepBlockSize(width));
  std::vector<float*> blocks;
  for (int64_t b = 0; b < kSentences * num_blocks; ++b) {
    blocks.push_back(memory.view().Row(b));
  }
  std::vector<int32_t> rows(static_cast<size_t>(length));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<StepQuery> queries(kSentences,
                                 {.num_keys = length, .key_rows = rows.data()});
  std::vector<StepGroup> groups;
  for (int64_t s = 0; s < kSentences; ++s) {
    float** own = blocks.data() + s * num_blocks;
    PutRows(keys, keys, own);
    groups.push_back(
        {.first_query = s,
         .queries = std::span(queries).subspan(static_cast<size_t>(s), 1),
         .num_rows = length,
         .blocks = own});
  }
  const AttentionOptions options = {.num_heads = state.range(2)};
  std::vector<float> scratch(static_cast<size_t>(
      AttentionStepScratchSize(groups, options, state.range(1))));
  for (auto _ : state) {
    AttentionStep(query, groups, options, scratch.data(), dst);
  }
  CountRows(state, kSentences);
  CountRate(state, "bytes",
            8.0 * static_cast<double>(kSentences * length * width));
}
BENCHMARK(StepAttention)->Apply(AttentionShapes);

void ForwardLayerNorm(benchmark::State& state) {
  const int64_t width = state.range(0);
  const TestMatrix src = Uniform(1024, width), gain = Uniform(1, width);
  const TestMatrix dst(1024, width), statistics(1024, 2);
  for (auto _ : state) {
    LayerNormForward(src, gain.view().data, gain.view().data, statistics, dst);
  }
  CountRows(state, 1024);
  CountRate(state, "bytes", 1024.0 * 8 * static_cast<double>(width));
}
BENCHMARK(ForwardLayerNorm)->ArgName("width")->Arg(128)->Arg(512);

void BackwardLayerNorm(benchmark::State& state) {
  const int64_t width = state.range(0);
  const TestMatrix src = Uniform(1024, width), gain = Uniform(1, width);
  const TestMatrix dst(1024, width), statistics(1024, 2);
  const TestMatrix d_gain(1, width), d_bias(1, width), d_src(1024, width);
  LayerNormForward(src, gain.view().data, gain.view().data, statistics, dst);
  for (auto _ : state) {
    LayerNormBackward(src, gain.view().data, statistics, dst,
                      {d_src, d_gain.view().data, d_bias.view().data});
  }
  CountRows(state, 1024);
  CountRate(state, "bytes", 1024.0 * 16 * static_cast<double>(width));
}
BENCHMARK(BackwardLayerNorm)->ArgName("width")->Arg(128)->Arg(512);

void CrossEntropy(benchmark::State& state) {
  const TestMatrix logits = Uniform(256, 8000);
  const std::vector<int32_t> targets(256, 17);
  double plain = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(CrossEntropyInPlace(
        logits, targets, {.label_smoothing = 0.1f}, &plain, 512));
  }
  CountRows(state, 256);
  CountRate(state, "bytes", 256.0 * 8000 * 8);
}
BENCHMARK(CrossEntropy);

void SelectFive(benchmark::State& state) {
  const TestMatrix logits = Uniform(256, 8000);
  std::vector<Candidate> best(5);
  for (auto _ : state) {
    for (int64_t r = 0; r < 256; ++r) {
      std::ranges::fill(best, kNoCandidate);
      SelectBest(logits.view().Row(r), 8000, 0, best);
    }
  }
  CountRows(state, 256);
  CountRate(state, "bytes", 256.0 * 8000 * 4);
}
BENCHMARK(SelectFive);

void DropoutAdd(benchmark::State& state) {
  const TestMatrix src = Uniform(1024, 512), dst(1024, 512);
  for (auto _ : state) DropoutAddForward(src, src, {0.1f, 5}, dst);
  CountRows(state, 1024);
  CountRate(state, "bytes", 1024.0 * 512 * 8);
}
BENCHMARK(DropoutAdd);

void Activations(benchmark::State& state, Activation activation) {
  const TestMatrix src = Uniform(1024, 512), dst(1024, 512);
  for (auto _ : state) ActivationForward(src, activation, {}, dst);
  CountRows(state, 1024);
  CountRate(state, "bytes", 1024.0 * 512 * 8);
}
BENCHMARK_CAPTURE(Activations, relu, Activation::kRelu);
BENCHMARK_CAPTURE(Activations, gelu, Activation::kGelu);
BENCHMARK_CAPTURE(Activations, swish, Activation::kSwish);

void Adam(benchmark::State& state) {
  constexpr int64_t kCount = 2'500'000;
  const TestMatrix values = Uniform(1, kCount), gradients = Uniform(1, kCount);
  const TestMatrix first(1, kCount), second(1, kCount);
  for (auto _ : state) {
    AdamUpdate({values.view().data, gradients.view().data, first.view().data,
                second.view().data},
               0, kCount, {.learning_rate = 1e-3f});
  }
  state.SetItemsProcessed(state.iterations() * kCount);
  CountRate(state, "bytes", 28.0 * kCount);
}
BENCHMARK(Adam);

}  // namespace
}  // namespace pipeformer

BENCHMARK_MAIN();
