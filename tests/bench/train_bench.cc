// Times training steps of one network beside the matrix products they are made
// of. scripts/bench/train runs it, in turn with other toolkits.
//
//   train_bench tiny|small|base LENGTH THREADS
//
// reads commands, one a line, and answers each with a line of JSON:
//
//   batches  the configuration and the random pairs of all batches, as ids
//
//   step     one update over the next batch: `seconds`, `tokens` of both sides
//
//   floor    the products of that step alone, on all threads: `seconds`
//
//   report   `profile`, seconds by operation of all steps after the first
//            round; `memory_bytes`, the most this program has held
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/peak_memory.h"
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
using Json = nlohmann::ordered_json;

constexpr int64_t kVocab = 8000;
constexpr size_t kNumBatches = 4;

TransformerConfig Config(const std::string& size) {
  struct Numbers {
    int64_t d_model, heads, ffn, layers;
  };
  const std::map<std::string, Numbers> sizes = {{"tiny", {128, 4, 256, 4}},
                                                {"small", {256, 4, 1024, 3}},
                                                {"base", {512, 8, 2048, 6}}};
  const Numbers n = sizes.at(size);
  TransformerConfig config;
  config.d_model = n.d_model;
  config.num_heads = n.heads;
  config.ffn_dim = n.ffn;
  config.encoder_layers = config.decoder_layers = n.layers;
  config.source_vocab = config.target_vocab = kVocab;
  config.dropout = 0.1f;
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
        ids.push_back(static_cast<int32_t>(3 + random.Below(kVocab - 3)));
      }
      offsets.push_back(static_cast<int64_t>(ids.size()));
    }
  }
  IdList list() const { return {ids, offsets}; }
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets{0};
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The products of a fully connected layer in one step: forward, and backward
// to its source and its weights.
struct Layer {
  int64_t rows, in, out;
};

std::vector<Layer> LayersOf(const TransformerConfig& c, int64_t source_rows,
                            int64_t target_rows) {
  std::vector<Layer> layers;
  const auto feed_forward = [&](int64_t rows) {
    layers.push_back({rows, c.d_model, c.ffn_dim});
    layers.push_back({rows, c.ffn_dim, c.d_model});
  };
  const auto self = [&](int64_t rows) {
    layers.push_back({rows, c.d_model, 3 * c.d_model});
    layers.push_back({rows, c.d_model, c.d_model});
  };
  const auto cross = [&] {
    layers.push_back({target_rows, c.d_model, c.d_model});
    layers.push_back({source_rows, c.d_model, 2 * c.d_model});
    layers.push_back({target_rows, c.d_model, c.d_model});
  };
  for (int64_t l = 0; l < c.encoder_layers; ++l) {
    self(source_rows);
    feed_forward(source_rows);
  }
  for (int64_t l = 0; l < c.decoder_layers; ++l) {
    self(target_rows);
    cross();
    feed_forward(target_rows);
  }
  layers.push_back({target_rows, c.d_model, c.target_vocab});
  return layers;
}

// One thread's part of a layer's products, over buffers of `arena`, in pieces
// of rows: many, or so few that the logits of a large vocabulary stay in the
// cache. Returns the seconds they took.
double RunProducts(const Layer& layer, Arena& arena) {
  constexpr int64_t kPiece = 512, kPieceOfLogits = 256;
  arena.Rewind({});
  const int64_t piece =
      std::min(layer.rows, layer.out == kVocab ? kPieceOfLogits : kPiece);
  const Matrix x = arena.NewMatrix(piece, layer.in);
  const Matrix y = arena.NewMatrix(piece, layer.out);
  const Matrix d_x = arena.NewMatrix(piece, layer.in);
  const Matrix weights = arena.NewMatrix(layer.out, layer.in);
  const Matrix d_weights = arena.NewMatrix(layer.out, layer.in);
  for (const Matrix& m : {x, y, d_x, weights, d_weights}) {
    std::fill_n(m.data, m.size(), 0.01f);
  }
  const auto start = Clock::now();
  for (int64_t begin = 0; begin < layer.rows; begin += piece) {
    const int64_t rows = std::min(piece, layer.rows - begin);
    LinearForward(x.Rows(0, rows), weights, nullptr, nullptr, y.Rows(0, rows));
    LinearBackward(x.Rows(0, rows), weights, y.Rows(0, rows),
                   {.d_src = d_x.Rows(0, rows),
                    .write_src = Write::kSet,
                    .d_weights = d_weights});
  }
  return SecondsSince(start);
}

class Bench {
 public:
  Bench(const std::string& size, int64_t length, int threads)
      : pool_(threads),
        source_(8192 * static_cast<int64_t>(kNumBatches) / length, length),
        corpus_{source_.list(), source_.list()},
        model_(Config(size)),
        arenas_(static_cast<size_t>(threads)) {
    model_.parameters().Allocate();
    model_.parameters().Initialize(1);
    trainer_ = std::make_unique<Trainer>(model_, corpus_, Boundary{},
                                         TrainerOptions{}, pool_);
    const EpochBatches epoch = MakeEpoch(corpus_, {}, Random(1));
    for (size_t b = 0; b < kNumBatches; ++b) batches_.push_back(epoch[b]);
  }

  Json Batches() const {
    const TransformerConfig& c = model_.config();
    Json batches = Json::array();
    for (const Batch& batch : batches_) {
      Json pairs = Json::array();
      for (const int64_t s : batch) {
        pairs.push_back({corpus_.source[s], corpus_.target[s]});
      }
      batches.push_back(pairs);
    }
    return {{"d_model", c.d_model},    {"num_heads", c.num_heads},
            {"ffn_dim", c.ffn_dim},    {"layers", c.encoder_layers},
            {"vocab", c.target_vocab}, {"dropout", c.dropout},
            {"batches", batches}};
  }

  Json Step() {
    if (num_steps_ == batches_.size()) trainer_->StartProfile();
    const Batch& batch = batches_[num_steps_++ % batches_.size()];
    const auto start = Clock::now();
    const UpdateResult result = trainer_->Update(batch, 1e-4);
    return {{"seconds", SecondsSince(start)},
            {"tokens", result.given_pieces + result.loss.pieces}};
  }

  // Of the last step's batch.
  Json Floor() {
    const Batch& batch =
        batches_[(num_steps_ + batches_.size() - 1) % batches_.size()];
    int64_t rows = 0;  // of either side
    for (const int64_t s : batch) rows += RowsOf(corpus_, s);
    const int64_t part = rows / pool_.num_workers();
    const std::vector<Layer> layers = LayersOf(model_.config(), part, part);
    std::vector<double> seconds(arenas_.size());
    const auto run = [&](int w) {
      const auto at = static_cast<size_t>(w);
      seconds[at] = 0;
      for (const Layer& layer : layers) {
        seconds[at] += RunProducts(layer, arenas_[at]);
      }
    };
    if (!warm_) pool_.Run(run);  // oneDNN makes its primitives
    warm_ = true;
    pool_.Run(run);
    return {{"seconds", *std::max_element(seconds.begin(), seconds.end())}};
  }

  Json Report() const {
    const Profile total = trainer_->TotalProfile();
    Json profile;
    for (size_t op = 0; op < kOpNames.size(); ++op) {
      profile[kOpNames[op]] = {{"forward", total.forward[op]},
                               {"backward", total.backward[op]}};
    }
    return {{"profile", profile}, {"memory_bytes", PeakMemoryBytes()}};
  }

 private:
  WorkerPool pool_;
  // Lengths of both sides agree, as those of a pair roughly do.
  RandomCorpus source_;
  PairCorpus corpus_;
  Transformer model_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<Batch> batches_;
  std::vector<Arena> arenas_;
  size_t num_steps_ = 0;
  bool warm_ = false;
};

int Main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "train_bench tiny|small|base LENGTH THREADS\n";
    return 64;
  }
  Bench bench(argv[1], std::stoi(argv[2]), std::stoi(argv[3]));
  for (std::string command; std::getline(std::cin, command);) {
    Json answer;
    if (command == "batches") answer = bench.Batches();
    if (command == "step") answer = bench.Step();
    if (command == "floor") answer = bench.Floor();
    if (command == "report") answer = bench.Report();
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) { return pipeformer::Main(argc, argv); }
