#include "tools/train_run.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "formats/input.h"
#include "formats/model_config.h"
#include "formats/model_file.h"
#include "formats/sha256.h"
#include "formats/training_state.h"
#include "lib/base/error.h"
#include "lib/metrics/metric.h"
#include "tools/support/interrupt.h"
#include "tools/support/progress.h"
#include "tools/training_data.h"
#include "tools/translation.h"
#include "tools/validator.h"

namespace pipeformer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxVocabularyBytes = size_t{1} << 30;
constexpr double kReportSeconds = 5;  // between records in the log

VocabularyPair LoadVocabularies(const std::vector<std::string>& files) {
  const auto load = [](const std::string& file) {
    return std::make_shared<const Vocabulary>(
        ReadAll(*OpenInput(file), kMaxVocabularyBytes), file);
  };
  const auto source = load(files[0]);
  const bool joint = files.size() == 1 || files[0] == files[1];
  const VocabularyPair pair{source, joint ? source : load(files[1])};
  for (const Vocabulary* v : {pair.source.get(), pair.target.get()}) {
    if (v->bos_id() < 0 || v->eos_id() < 0) {
      ThrowBadData(files[v == pair.source.get() ? 0 : 1] +
                   ": the vocabulary has no <s> or no </s>; make it with "
                   "build-vocab");
    }
  }
  return pair;
}

int64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

std::string Fixed(double value, int decimals) {
  return FormatFixed(value, decimals);
}

// Sums since the last report.
struct Tally {
  LossSum loss;
  int64_t source_pieces = 0;
  Clock::time_point since = Clock::now();

  void Add(const UpdateResult& result) {
    loss.smoothed += result.loss.smoothed;
    loss.plain += result.loss.plain;
    loss.pieces += result.loss.pieces;
    source_pieces += result.source_pieces;
  }
  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - since).count();
  }
  double MeanLoss() const {
    return loss.smoothed /
           static_cast<double>(std::max<int64_t>(loss.pieces, 1));
  }
  double TokensPerSecond() const {
    return static_cast<double>(source_pieces + loss.pieces) /
           std::max(Seconds(), 1e-9);
  }
};

class TrainRun : public TrainingListener {
 public:
  TrainRun(Tool& tool, TrainSettings& settings)
      : tool_(tool),
        settings_(settings),
        pool_(static_cast<int>(tool.options().threads)),
        vocabularies_(LoadVocabularies(settings.vocabs)) {
    ReadData();
    BuildNetwork();
  }

  void Run() {
    const std::string state_file = settings_.model + ".state";
    const TrainingIdentity identity = Identity();
    if (!settings_.restart && std::filesystem::exists(state_file)) {
      ReadTrainingState(state_file, identity, network_->parameters(),
                        trainer_->state(), position_);
      tool_.Note(position_.finished
                     ? "the training is complete; --restart begins anew"
                     : "resuming after update " +
                           std::to_string(trainer_->state().step));
    }
    save_ = [this, identity, state_file] {
      WriteTrainingState(network_->parameters(), trainer_->state(), position_,
                         identity, state_file);
    };
    if (position_.finished) return;
    InterruptFlag::Install();
    progress_.emplace(tool_, "%", 100);
    const bool complete =
        RunTraining(*trainer_, train_->corpus(), loop_, *this, position_);
    progress_.reset();
    save_();
    if (!complete) {
      tool_.Note("interrupted after update " +
                 std::to_string(trainer_->state().step) +
                 "; the same command continues from here");
      InterruptFlag::Raise();
    }
  }

  void Updated(const UpdateReport& report) override {
    tally_.Add(report.result);
    const double share = std::min(1.0, report.share_done);
    progress_->Update(static_cast<uint64_t>(share * 100),
                      "step " + std::to_string(report.step) + "  loss " +
                          Fixed(tally_.MeanLoss(), 3) + "  " +
                          Fixed(tally_.TokensPerSecond() / 1000, 1) +
                          "k tokens/s");
    if (tally_.Seconds() < kReportSeconds) return;
    tool_.Log({{"step", report.step},
               {"epoch", Epochs()},
               {"loss", tally_.MeanLoss()},
               {"learning_rate", report.learning_rate},
               {"gradient_norm", report.result.gradient_norm},
               {"tokens_per_second", tally_.TokensPerSecond()},
               {"seconds", Seconds()},
               {"memory_bytes", PeakMemoryBytes()}});
    total_tokens_ += tally_.source_pieces + tally_.loss.pieces;
    total_seconds_ += tally_.Seconds();
    last_loss_ = tally_.MeanLoss();
    tally_ = {};
  }

  double Validate(const TrainingPosition&) override {
    total_tokens_ += tally_.source_pieces + tally_.loss.pieces;
    total_seconds_ += tally_.Seconds();
    if (tally_.loss.pieces > 0) last_loss_ = tally_.MeanLoss();
    UpdateInference();
    if (!validator_) return 0;
    values_ = validator_->Validate(*trainer_, *inference_);
    const MetricValue& first = values_.front();
    return first.name == "cross-entropy" ? -first.value : first.value;
  }

  void Validated(const TrainingPosition& position, bool is_best) override {
    position_ = position;
    Report(is_best);
    if (is_best || !settings_.keep_best) {
      WriteModel(*inference_, vocabularies_, settings_.model);
    }
    save_();
    tally_ = {};
  }

  bool Interrupted() override { return InterruptFlag::IsSet(); }

  double Seconds() override {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  void ReadData() {
    train_.emplace(tool_,
                   DataSource{.files = settings_.train_sets,
                              .from = settings_.from,
                              .max_length = settings_.max_length},
                   vocabularies_, pool_);
    if (train_->corpus().size() == 0) {
      ThrowBadData("--train-sets: no pair to train on (" + LeftOut(*train_) +
                   ")");
    }
    tool_.Note(std::to_string(train_->corpus().size()) +
               " pairs to train on, " + LeftOut(*train_));
    if (settings_.valid_sets.empty()) return;
    valid_.emplace(tool_,
                   DataSource{.files = settings_.valid_sets,
                              .from = settings_.from,
                              .max_length = kMaxValidationLength,
                              .keep_text = KeepText::kYes},
                   vocabularies_, pool_);
    if (valid_->corpus().size() == 0) {
      ThrowBadData("--valid-sets: no pair to validate on (" + LeftOut(*valid_) +
                   ")");
    }
    validator_.emplace(*valid_, vocabularies_, settings_.valid_metrics, pool_);
  }

  static std::string LeftOut(const TrainingData& data) {
    return std::to_string(data.num_blank()) + " blank and " +
           std::to_string(data.num_long()) + " too long left out";
  }

  void BuildNetwork() {
    TransformerConfig& config = settings_.network;
    config.source_vocab = vocabularies_.source->size();
    config.target_vocab = vocabularies_.target->size();
    if (!vocabularies_.joint()) config.tied_embeddings = false;
    CheckConfig(config, "options");
    network_ = std::make_unique<Transformer>(config);
    network_->parameters().Allocate();
    network_->parameters().Initialize(tool_.options().seed);
    if (!settings_.init_model.empty()) {
      CopyWeights(settings_.init_model, *network_);
    }
    inference_ = std::make_unique<Transformer>(config);
    inference_->parameters().Allocate();
    corpus_ = train_->corpus();
    trainer_.emplace(*network_, corpus_, BoundaryOf(vocabularies_),
                     settings_.trainer, pool_);
    loop_ = {.batcher = {.batch_rows = settings_.mini_batch_words *
                                       settings_.optimizer_delay},
             .schedule = settings_.schedule,
             .after = settings_.after,
             .valid_freq = settings_.valid_freq,
             .early_stopping = validator_ ? settings_.early_stopping : 0,
             .seed = tool_.options().seed};
    updates_per_epoch_ = UpdatesPerEpoch(corpus_, loop_);
    tool_.Note(std::to_string(network_->parameters().size()) + " parameters, " +
               std::to_string(updates_per_epoch_) + " updates an epoch");
  }

  // The weights that are validated and saved: the averages where there are.
  void UpdateInference() {
    const auto& averages = trainer_->state().averages;
    const float* from =
        averages.empty() ? network_->parameters().values() : averages.data();
    std::copy_n(from, network_->parameters().size(),
                inference_->parameters().values());
    inference_->Pack();
  }

  double Epochs() const {
    return static_cast<double>(position_.epoch) +
           static_cast<double>(position_.batch) /
               static_cast<double>(updates_per_epoch_);
  }

  void Report(bool is_best) {
    std::string text =
        "step " + std::to_string(trainer_->state().step) + "  epoch " +
        Fixed(Epochs(), 2) + "  loss " + Fixed(last_loss_, 3) + "  " +
        Fixed(total_tokens_ / std::max(total_seconds_, 1e-9) / 1000, 1) +
        "k tokens/s";
    nlohmann::ordered_json record = {{"step", trainer_->state().step},
                                     {"epoch", Epochs()},
                                     {"seconds", Seconds()},
                                     {"memory_bytes", PeakMemoryBytes()}};
    nlohmann::ordered_json scores = nlohmann::ordered_json::object();
    for (const MetricValue& v : values_) {
      text += "  " + v.name + " " +
              Fixed(v.value, v.name == "cross-entropy" ? 4 : 2);
      if (v.name == "cross-entropy") {
        scores["cross_entropy"] = v.value;
        scores["perplexity"] = std::exp(v.value);
      } else {
        scores[v.name] = v.value;
      }
    }
    if (!values_.empty()) {
      scores["best"] = std::abs(position_.best);
      scores["stalled"] = position_.stalled;
      record["validation"] = scores;
      tool_.Log(record);
      text +=
          is_best ? "  best" : "  stalled " + std::to_string(position_.stalled);
    }
    tool_.Note(text);
    total_tokens_ = 0;
    total_seconds_ = 0;
  }

  // What a resumed run must have in common with the one that began.
  TrainingIdentity Identity() const {
    const TrainSettings& s = settings_;
    return {{"network", ConfigToJson(s.network)},
            {"training pairs", train_->Hash()},
            {"validation pairs", valid_ ? valid_->Hash() : ""},
            {"source vocabulary", Sha256Hex(vocabularies_.source->model())},
            {"target vocabulary", Sha256Hex(vocabularies_.target->model())},
            {"--init-model", s.init_model},
            {"--seed", tool_.options().seed},
            {"--threads", tool_.options().threads},
            {"--mini-batch-words", s.mini_batch_words},
            {"--optimizer-delay", s.optimizer_delay},
            {"--learn-rate", s.schedule.learning_rate},
            {"--lr-warmup", s.schedule.warmup_updates},
            {"--lr-schedule", static_cast<int>(s.schedule.kind)},
            {"--optimizer-params",
             {s.trainer.beta1, s.trainer.beta2, s.trainer.epsilon}},
            {"--label-smoothing", s.trainer.label_smoothing},
            {"--clip-norm", s.trainer.clip_norm},
            {"--exponential-smoothing", s.trainer.exponential_smoothing},
            {"--valid-metrics", s.valid_metrics},
            {"--keep-best", s.keep_best}};
  }

  static constexpr int64_t kMaxValidationLength = 2000;

  Tool& tool_;
  TrainSettings& settings_;
  const Clock::time_point start_ = Clock::now();
  WorkerPool pool_;
  VocabularyPair vocabularies_;
  std::optional<TrainingData> train_, valid_;
  std::optional<Validator> validator_;
  std::unique_ptr<Transformer> network_;
  std::unique_ptr<Transformer> inference_;  // packed; validated and saved
  PairCorpus corpus_;
  std::optional<Trainer> trainer_;
  LoopOptions loop_;
  TrainingPosition position_;
  std::function<void()> save_;
  std::optional<Progress> progress_;
  Tally tally_;
  std::vector<MetricValue> values_;
  double total_tokens_ = 0, total_seconds_ = 0, last_loss_ = 0;
  int64_t updates_per_epoch_ = 0;
};

}  // namespace

void RunTrain(Tool& tool, TrainSettings& settings) {
  CompleteSettings(settings, tool.options().seed);
  TrainRun(tool, settings).Run();
}

}  // namespace pipeformer
