#include "tools/train_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "formats/model_file.h"
#include "formats/training_state.h"
#include "lib/base/error.h"
#include "lib/train/divergence.h"
#include "tools/checkpoints.h"
#include "tools/support/interrupt.h"
#include "tools/train_corpora.h"
#include "tools/train_estimate.h"
#include "tools/train_identity.h"
#include "tools/train_report.h"
#include "tools/train_together.h"
#include "tools/train_vocabularies.h"
#include "tools/translation.h"
#include "tools/validator.h"

namespace pipeformer {
namespace {

class TrainRun : public TrainingListener {
 public:
  TrainRun(Tool& tool, TrainSettings& settings, const Ranks& ranks)
      : tool_(tool),
        settings_(settings),
        ranks_(ranks),
        processes_(ranks.communicator()),
        checkpoints_(settings, ranks.is_first() && !settings.dry_run
                                   ? Checkpoints::Role::kWriter
                                   : Checkpoints::Role::kReader),
        pool_(static_cast<int>(tool.options().threads)),
        corpora_(tool, settings, pool_) {
    if (corpora_.valid() != nullptr) {
      validator_.emplace(*corpora_.valid(), vocabularies(),
                         settings_.valid_metrics, pool_, processes_);
    }
    BuildNetwork();
  }

  void Run() {
    identity_ = IdentityOf(settings_, {.vocabularies = vocabularies(),
                                       .train = corpora_.train(),
                                       .valid = corpora_.valid(),
                                       .seed = tool_.options().seed,
                                       .num_processes = processes_.size(),
                                       .num_workers = trainer_->num_workers()});
    const bool resumes = !settings_.restart && checkpoints_.HasState();
    TrainingIdentity together = identity_;
    together.update(CourseOf(settings_));
    CheckSameTraining(together, settings_.model + ".state",
                      resumes ? StateIs::kThere : StateIs::kMissing, ranks_);
    if (settings_.dry_run) return Estimate();
    if (settings_.restart) checkpoints_.RemoveState();
    if (resumes) Resume();
    trainer_->CheckAgreement();
    checkpoints_.RemoveOthers(position_);  // left by a run that was killed
    tool_.Log({{"event", "begin"},
               {"step", step()},
               {"parameters", network_->parameters().size()},
               {"updates_per_epoch", updates_per_epoch_},
               {"processes", processes_.size()}});
    InterruptFlag::Install();
    report_.emplace(tool_, ranks_);  // its clock is the training's
    const bool complete = Train();
    WaitForAll(processes_);  // all that is saved is there for all
    if (complete) {
      if (!position_.checkpoints.empty()) AverageCheckpoints();
      return;
    }
    report_.reset();
    tool_.Note("interrupted after update " + std::to_string(step()) +
               "; the same command continues from here");
    InterruptFlag::Raise();
  }

  void BeginEpoch(int64_t number) override { corpora_.BeginEpoch(number); }

  void Updated(const UpdateReport& report) override {
    epochs_ = report.epochs;
    report_->Updated(report);
  }

  std::vector<double> Validate(const TrainingPosition&) override {
    trainer_->CheckAgreement();
    UpdateInference();
    if (validator_) values_ = validator_->Validate(*trainer_, *inference_);
    std::vector<double> goodness;
    for (const MetricValue& v : values_) {
      goodness.push_back(v.name == "cross-entropy" ? -v.value : v.value);
    }
    return goodness;
  }

  void Validated(const TrainingPosition& position,
                 const std::vector<bool>& is_best) override {
    report_->Validated(values_, position, step(), epochs_);
    checkpoints_.WriteModels(*inference_, vocabularies(), position, step(),
                             is_best);
    Save(position);
    checkpoints_.RemoveOthers(position);
  }

  void Save(const TrainingPosition& position) override {
    checkpoints_.WriteState(identity_, *network_, trainer_->state(), position);
  }

  bool Interrupted() override {
    return Any(processes_, InterruptFlag::IsSet());
  }

  double Seconds() override { return OfFirst(processes_, report_->Seconds()); }

 private:
  void BuildNetwork() {
    FitNetwork(vocabularies(), settings_);
    const TransformerConfig& config = settings_.network;
    network_ = std::make_unique<Transformer>(config);
    network_->parameters().Allocate();
    network_->parameters().Initialize(tool_.options().seed);
    if (!settings_.init_model.empty()) {
      CopyWeights(settings_.init_model, vocabularies(), *network_);
    }
    inference_ = std::make_unique<Transformer>(config);
    inference_->parameters().Allocate();
    trainer_.emplace(*network_, corpora_.of_epoch(), BoundaryOf(vocabularies()),
                     settings_.trainer, Workforce{pool_, processes_});
    loop_ = {.batcher = {.batch_rows = settings_.mini_batch_words *
                                       settings_.optimizer_delay},
             .schedule = settings_.schedule,
             .after = settings_.after,
             .valid_freq = settings_.valid_freq,
             .save_freq = settings_.save_freq,
             .early_stopping = validator_ ? settings_.early_stopping : 0,
             .checkpoints = settings_.checkpoints,
             .seed = tool_.options().seed};
    updates_per_epoch_ = UpdatesPerEpoch(corpora_.of_epoch(), loop_);
    tool_.Note(std::to_string(network_->parameters().size()) + " parameters, " +
               std::to_string(updates_per_epoch_) + " updates an epoch");
  }

  // What `train` gives; a divergence there says where its pairs come from.
  template <class Training>
  auto NamingPairs(const Training& train) {
    try {
      return train();
    } catch (const Divergence& divergence) {
      throw Error(divergence.code(),
                  std::string(divergence.what()) + "; its batch is " +
                      corpora_.train().places().List(divergence.batch()));
    }
  }

  void Estimate() {
    const auto estimate = NamingPairs([&] {
      return EstimateTraining({.settings = settings_,
                               .corpora = corpora_,
                               .network = *network_,
                               .trainer = *trainer_,
                               .loop = loop_,
                               .ranks = ranks_});
    });
    for (const auto& line : EstimateLines(estimate)) tool_.Note(line);
    if (ranks_.is_first()) tool_.output().Write(estimate.dump() + "\n");
  }

  void Resume() {
    checkpoints_.Resume(identity_, *network_, trainer_->state(), position_);
    epochs_ = static_cast<double>(position_.epoch) +
              static_cast<double>(position_.batch) /
                  static_cast<double>(updates_per_epoch_);
    tool_.Note("resuming after update " + std::to_string(step()) +
               (position_.stopped_early ? ", which stopped early" : ""));
  }

  bool Train() {
    return NamingPairs([&] {
      return RunTraining(*trainer_, corpora_.of_epoch(), loop_, *this,
                         position_);
    });
  }

  void AverageCheckpoints() {
    checkpoints_.Average(vocabularies(), position_, *inference_);
    inference_->Pack();
    if (validator_) values_ = validator_->Validate(*trainer_, *inference_);
    report_->Averaged(values_, position_, step(), epochs_);
    checkpoints_.WriteModel(*inference_, vocabularies());
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

  const VocabularyPair& vocabularies() const { return corpora_.vocabularies(); }
  int64_t step() const { return trainer_->state().step; }

  Tool& tool_;
  TrainSettings& settings_;
  const Ranks& ranks_;
  Communicator& processes_;
  Checkpoints checkpoints_;
  WorkerPool pool_;
  TrainCorpora corpora_;
  std::optional<TrainReport> report_;
  std::optional<Validator> validator_;
  std::unique_ptr<Transformer> network_;
  std::unique_ptr<Transformer> inference_;  // packed; validated and saved
  std::optional<Trainer> trainer_;
  LoopOptions loop_;
  int64_t updates_per_epoch_ = 1;  // of the first epoch
  double epochs_ = 0;              // trained so far
  TrainingIdentity identity_;
  TrainingPosition position_;
  std::vector<MetricValue> values_;
};

}  // namespace

void RunTrain(Tool& tool, TrainSettings& settings, const Ranks& ranks) {
  CompleteSettings(settings, tool.options().seed);
  CheckTogether(settings, ranks);
  TrainRun(tool, settings, ranks).Run();
}

}  // namespace pipeformer
