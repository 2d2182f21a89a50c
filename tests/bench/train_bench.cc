// How fast a training step is, as a share of what the machine multiplies.
//   train_bench [threads]
// Each case alternates, in one run, timing the matrix product alone on all
// threads and timing whole training steps over random sentences. One JSON
// record a case: `tokens_per_second` (source + target pieces), `gflops` of the
// step (matrix products of linear layers and attention, forward and backward),
// `product_gflops` of the products alone, and `share`, their ratio.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "lib/base/random.h"
#include "lib/base/worker_pool.h"
#include "lib/data/batcher.h"
#include "lib/nn/transformer.h"
#include "lib/ops/linear.h"
#include "lib/tensor/arena.h"
#include "lib/train/trainer.h"

namespace pipeformer {
namespace {

using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  TransformerConfig config;
  int64_t length;  // of every sentence, without its end symbol
};

TransformerConfig Config(int64_t d_model, int64_t heads, int64_t ffn,
                         int64_t layers) {
  TransformerConfig config;
  config.d_model = d_model;
  config.num_heads = heads;
  config.ffn_dim = ffn;
  config.encoder_layers = config.decoder_layers = layers;
  config.source_vocab = config.target_vocab = 8000;
  config.dropout = 0.3f;
  return config;
}

struct RandomCorpus {
  RandomCorpus(int64_t sentences, int64_t length) {
    Random random(1);
    for (int64_t s = 0; s < sentences; ++s) {
      // Lengths vary as in text: between a half and one and a half.
      const int64_t n =
          length / 2 +
          static_cast<int64_t>(random.Below(static_cast<uint64_t>(length) + 1));
      for (int64_t i = 0; i < n; ++i) {
        ids.push_back(static_cast<int32_t>(3 + random.Below(7997)));
      }
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
  }
  IdList list() const { return {ids, offsets}; }
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
};

// Floating-point operations of one update, forward and backward.
double Operations(const TransformerConfig& c, const PairCorpus& corpus,
                  const Batch& batch) {
  double source = 0, target = 0, scores = 0;
  for (const int64_t s : batch) {
    const double n = static_cast<double>(corpus.source[s].size()) + 1;
    const double m = static_cast<double>(corpus.target[s].size()) + 1;
    source += n;
    target += m;
    scores += static_cast<double>(c.encoder_layers) * n * n +
              static_cast<double>(c.decoder_layers) * (m * m / 2 + m * n);
  }
  const auto d = static_cast<double>(c.d_model);
  const auto f = static_cast<double>(c.ffn_dim);
  const auto encoder = static_cast<double>(c.encoder_layers);
  const auto decoder = static_cast<double>(c.decoder_layers);
  const double linear =
      source * (encoder * (4 * d * d + 2 * d * f) + decoder * 2 * d * d) +
      target * (decoder * (6 * d * d + 2 * d * f) +
                d * static_cast<double>(c.target_vocab));
  return 3 * 2 * (linear + 2 * scores * d);
}

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// GFLOP/s of 512 x 512 x 512 products, on all workers at once.
double ProductRate(WorkerPool& pool) {
  constexpr int64_t kSize = 512;
  constexpr int kRounds = 100;
  std::vector<Arena> arenas(static_cast<size_t>(pool.num_workers()));
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = Clock::now();
    pool.Run([&](int w) {
      Arena& arena = arenas[static_cast<size_t>(w)];
      arena.Rewind({});
      const Matrix a = arena.NewMatrix(kSize, kSize);
      const Matrix b = arena.NewMatrix(kSize, kSize);
      const Matrix c = arena.NewMatrix(kSize, kSize);
      std::fill_n(a.data, a.size(), 0.5f);
      std::fill_n(b.data, b.size(), 0.5f);
      for (int i = 0; i < kRounds; ++i) {
        LinearForward(a, b, nullptr, nullptr, c);
      }
    });
    const double operations =
        2.0 * kSize * kSize * kSize * kRounds * pool.num_workers();
    best = std::max(best, operations / Seconds(start) / 1e9);
  }
  return best;
}

void Run(const Case& c, WorkerPool& pool) {
  const RandomCorpus source(4096 * 6 / c.length, c.length);
  // Lengths of both sides agree, as those of a pair roughly do.
  const PairCorpus corpus{source.list(), source.list()};
  Transformer model(c.config);
  model.parameters().Allocate();
  model.parameters().Initialize(1);
  Trainer trainer(model, corpus, {}, {}, pool);
  const EpochBatches batches = MakeEpoch(corpus, {}, Random(1));
  trainer.Update(batches[0], 1e-4);  // warm: kernels, arenas
  double product = 0, operations = 0, pieces = 0, seconds = 0;
  for (size_t i = 0; i < std::min<size_t>(5, batches.size()); ++i) {
    product = std::max(product, ProductRate(pool));
    const auto start = Clock::now();
    const UpdateResult result = trainer.Update(batches[i], 1e-4);
    seconds += Seconds(start);
    operations += Operations(c.config, corpus, batches[i]);
    pieces += static_cast<double>(result.given_pieces + result.loss.pieces);
  }
  const double rate = operations / seconds / 1e9;
  const nlohmann::ordered_json record = {
      {"case", c.name},
      {"threads", pool.num_workers()},
      {"tokens_per_second", static_cast<int64_t>(pieces / seconds)},
      {"gflops", rate},
      {"product_gflops", product},
      {"share", rate / product}};
  std::puts(record.dump().c_str());
  std::fflush(stdout);
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  WorkerPool pool(argc > 1
                      ? std::atoi(argv[1])
                      : static_cast<int>(std::thread::hardware_concurrency()));
  const TransformerConfig tiny = Config(128, 4, 256, 4);
  const TransformerConfig small = Config(256, 4, 1024, 3);
  for (const Case& c :
       {Case{"tiny, length 13", tiny, 13}, Case{"tiny, length 60", tiny, 60},
        Case{"small, length 13", small, 13},
        Case{"small, length 60", small, 60}}) {
    Run(c, pool);
  }
}
