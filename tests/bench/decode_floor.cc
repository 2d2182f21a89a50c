// Times the matrix products of decoding alone: what a row costs where nothing
// but its layers' products is done. scripts/bench/decode compares with it.
//
//   decode_floor CONFIG f32|int8 ROWS
//
// CONFIG is a network's configuration, as JSON; ROWS are multiplied together,
// by one thread, weights packed. Writes {"source_row": seconds, "target_row":
// seconds}: of a source piece (encoder, and keys and values for the decoder)
// and of a hypothesis' piece (decoder and output layer).
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/linear.h"
#include "lib/nn/parameter.h"
#include "lib/ops/cross_entropy.h"
#include "lib/tensor/arena.h"

namespace pipeformer {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

// Layers of random weights that run one after another over the same rows.
class Layers {
 public:
  // In parts of `part` outputs, all of them unless given.
  void Add(int64_t in, int64_t out, int64_t part = 0) {
    const std::string name = std::to_string(shapes_.size());
    shapes_.push_back({in, part == 0 ? out : part});
    weights_.push_back(
        &table_.DeclareMatrix(name, out, in, GlorotUniform(out, in)));
  }

  void Pack(Precision precision) {
    table_.Allocate();
    table_.Initialize(1);
    for (size_t l = 0; l < weights_.size(); ++l) {
      layers_.emplace_back(weights_[l], nullptr)
          .Pack(precision, shapes_[l].part);
    }
  }

  // The median of the seconds that all layers take, for a row.
  double SecondsOfRow(int64_t rows) {
    Arena arena;
    std::vector<Matrix> sources;
    for (const auto& [in, part] : shapes_) {
      sources.push_back(arena.NewMatrix(rows, in));
      Random random(2);
      for (int64_t i = 0; i < rows * in; ++i) {
        sources.back().data[i] = static_cast<float>(random.Uniform()) - 0.5f;
      }
    }
    std::vector<double> seconds;
    const auto end = Clock::now() + std::chrono::milliseconds(700);
    while (seconds.size() < 5 || Clock::now() < end) {
      const auto mark = arena.mark();
      const auto start = Clock::now();
      for (size_t l = 0; l < layers_.size(); ++l) {
        auto* memory = arena.Array<float>(rows * layers_[l].part());
        layers_[l].InferParts(sources[l], memory, [](int64_t, Matrix) {});
        arena.Rewind(mark);
      }
      seconds.push_back(
          std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2] / static_cast<double>(rows);
  }

 private:
  struct Shape {
    int64_t in, part;
  };

  ParameterTable table_;
  std::vector<Shape> shapes_;
  std::vector<const Parameter*> weights_;
  std::vector<Linear> layers_;
};

int Run(const Json& config, Precision precision, int64_t rows) {
  const int64_t d = config.at("d_model"), ffn = config.at("ffn_dim");
  Layers source, target;
  const auto self = [&](Layers& layers) {
    layers.Add(d, 3 * d);
    layers.Add(d, d);
  };
  const auto feed_forward = [&](Layers& layers) {
    layers.Add(d, ffn);
    layers.Add(ffn, d);
  };
  for (int l = 0; l < config.at("encoder_layers"); ++l) {
    self(source);
    feed_forward(source);
  }
  for (int l = 0; l < config.at("decoder_layers"); ++l) {
    self(target);
    target.Add(d, d);
    target.Add(d, d);
    source.Add(d, 2 * d);
    feed_forward(target);
  }
  target.Add(d, config.at("target_vocab"), kLogitPart);
  source.Pack(precision);
  target.Pack(precision);
  std::cout << Json{{"source_row", source.SecondsOfRow(rows)},
                    {"target_row", target.SecondsOfRow(rows)}}
            << std::endl;
  return 0;
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  if (argc != 4) {
    std::cerr << "decode_floor: give CONFIG f32|int8 ROWS\n";
    return 64;
  }
  const bool int8 = std::string(argv[2]) == "int8";
  return Run(Json::parse(argv[1]),
             int8 ? Precision::kInt8 : Precision::kFloat32,
             std::stoll(argv[3]));
}
