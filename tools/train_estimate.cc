#include "tools/train_estimate.h"

#include <chrono>
#include <cmath>

#include "lib/base/peak_memory.h"
#include "lib/metrics/metric.h"
#include "tools/support/progress.h"

namespace pipeformer {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kCalibrationSeconds = 2;

// Trains for two seconds and keeps count.
class Calibration : public TrainingListener {
 public:
  explicit Calibration(Communicator& processes) : processes_(processes) {}

  void Updated(const UpdateReport& report) override {
    ++updates_;
    if (updates_ == 1) {  // it makes kernels and memory ready
      start_ = Clock::now();
      return;
    }
    tokens_ += report.result.given_pieces + report.result.loss.pieces;
    seconds_ = std::chrono::duration<double>(Clock::now() - start_).count();
  }
  std::vector<double> Validate(const TrainingPosition&) override { return {}; }
  void Validated(const TrainingPosition&, const std::vector<bool>&) override {}
  void Save(const TrainingPosition&) override {}
  bool Interrupted() override {
    seconds_ = OfFirst(processes_, seconds_);
    return updates_ >= 2 && seconds_ >= kCalibrationSeconds;
  }
  double Seconds() override { return 0; }

  int64_t updates() const { return updates_ - 1; }
  double seconds() const { return seconds_; }
  double tokens_per_second() const {
    return static_cast<double>(tokens_) / seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Communicator& processes_;
  int64_t updates_ = 0;
  int64_t tokens_ = 0;
  Clock::time_point start_;
  double seconds_ = 0;
};

Calibration Calibrate(const PreparedTraining& training) {
  Calibration calibration(training.ranks.communicator());
  LoopOptions endless = training.loop;
  endless.after = endless.valid_freq = endless.save_freq = {};
  TrainingPosition position;
  RunTraining(training.trainer, training.corpora.of_epoch(), endless,
              calibration, position);
  return calibration;
}

int64_t Bytes(size_t count, size_t size) {
  return static_cast<int64_t>(count * size);
}

// Requires: the trainer has made updates, so that its memory is what it needs.
Json Memory(const PreparedTraining& training) {
  const OptimizerState& state = training.trainer.state();
  const auto size = static_cast<size_t>(training.network.parameters().size());
  Json memory = {{"weights", 2 * Bytes(size, sizeof(float))},
                 {"gradients", training.trainer.gradient_bytes()},
                 {"moments", 2 * Bytes(size, sizeof(float)) +
                                 Bytes(state.averages.size(), sizeof(float))},
                 {"activations", training.trainer.activation_bytes()},
                 {"corpus", training.corpora.bytes()}};
  int64_t sum = 0;
  for (const auto& part : memory) sum += part.get<int64_t>();
  memory["sum"] = sum;
  memory["peak"] = PeakMemoryBytes();
  return memory;
}

std::string Megabytes(const Json& bytes) {
  return FormatFixed(bytes.get<double>() / 1e6, 1) + " MB";
}

std::string Duration(double seconds) {
  return seconds < 60 ? FormatFixed(seconds, 1) + " s" : ClockText(seconds);
}

std::string Thousands(double count) {
  return FormatFixed(count / 1e3, 1) + "k";
}

}  // namespace

Json EstimateTraining(const PreparedTraining& training) {
  const PairCorpus& corpus = training.corpora.of_epoch();
  const TrainingData& pairs = training.corpora.train();
  const TrainingData* valid = training.corpora.valid();
  const bool sentences =
      training.settings.network.trained_on == TrainedOn::kSentences;
  const auto tokens = [](const IdList& side) {
    int64_t count = side.size();  // the end symbols
    for (int64_t s = 0; s < side.size(); ++s) {
      count += static_cast<int64_t>(side[s].size());
    }
    return count;
  };
  const int64_t updates_per_epoch = UpdatesPerEpoch(corpus, training.loop);
  const Calibration calibration = Calibrate(training);
  const double seconds_per_update =
      calibration.seconds() / static_cast<double>(calibration.updates());
  const Stretch& after = training.loop.after;
  const auto per_epoch = static_cast<double>(updates_per_epoch);
  const double seconds_per_epoch =
      per_epoch * seconds_per_update + training.corpora.seconds_to_cut();
  const double updates = after.epochs > 0 ? after.epochs * per_epoch
                         : after.updates > 0
                             ? static_cast<double>(after.updates)
                             : after.seconds / seconds_per_epoch * per_epoch;
  return {{"pairs", corpus.size()},
          {"source_tokens", sentences ? 0 : tokens(corpus.source)},
          {"target_tokens", tokens(corpus.target)},
          {"blank", pairs.num_blank()},
          {"too_long", pairs.num_long()},
          {"validation_pairs", valid == nullptr ? 0 : valid->corpus().size()},
          {"parameters", training.network.parameters().size()},
          {"processes", training.ranks.communicator().size()},
          {"threads", training.trainer.num_workers()},
          {"memory_bytes", Memory(training)},
          {"updates_per_epoch", updates_per_epoch},
          {"calibration",
           {{"updates", calibration.updates()},
            {"seconds", calibration.seconds()}}},
          {"tokens_per_second", calibration.tokens_per_second()},
          {"seconds_to_cut", training.corpora.seconds_to_cut()},
          {"seconds_per_epoch", seconds_per_epoch},
          {"updates", static_cast<int64_t>(std::ceil(updates))},
          {"epochs", updates / per_epoch},
          {"seconds", updates / per_epoch * seconds_per_epoch}};
}

std::vector<std::string> EstimateLines(const Json& e) {
  const Json& memory = e["memory_bytes"];
  return {Thousands(e["source_tokens"]) + " source and " +
              Thousands(e["target_tokens"]) + " target tokens an epoch",
          "memory " + Megabytes(memory["peak"]) +
              " at the peak, of which weights " + Megabytes(memory["weights"]) +
              ", gradients " + Megabytes(memory["gradients"]) + ", moments " +
              Megabytes(memory["moments"]) + ", activations " +
              Megabytes(memory["activations"]) + ", the corpus " +
              Megabytes(memory["corpus"]),
          Thousands(e["tokens_per_second"]) + " tokens/s in " +
              e["calibration"]["updates"].dump() + " updates of " +
              FormatFixed(e["calibration"]["seconds"], 1) + " s",
          "an epoch takes " + Duration(e["seconds_per_epoch"]) + ", " +
              e["updates"].dump() + " updates (" + FormatFixed(e["epochs"], 1) +
              " epochs) " + Duration(e["seconds"]) + ", without validation"};
}

}  // namespace pipeformer
