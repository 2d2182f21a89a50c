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
#include "tools/subword_sampler.h"
#include "tools/support/interrupt.h"
#include "tools/train_estimate.h"
#include "tools/train_identity.h"
#include "tools/train_report.h"
#include "tools/train_together.h"
#include "tools/train_vocabularies.h"
#include "tools/training_data.h"
#include "tools/translation.h"
#include "tools/validator.h"

namespace pipeformer {
namespace {

constexpr int64_t kMaxValidationLength = 2000;  // pieces of either side

std::string LeftOut(const TrainingData& data) {
  const std::string weightless =
      data.num_weightless() == 0
          ? ""
          : ", " + std::to_string(data.num_weightless()) + " of weight 0";
  return std::to_string(data.num_blank()) + " blank and " +
         std::to_string(data.num_long()) + " too long" + weightless +
         " left out";
}

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
        vocabularies_(LoadVocabularies(settings)) {
    ReadData();
    BuildNetwork();
  }

  void Run() {
    identity_ = IdentityOf(settings_, {.vocabularies = vocabularies_,
                                       .train = *train_,
                                       .valid = valid_ ? &*valid_ : nullptr,
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
    Any(processes_, true);  // all that is saved is there for all
    if (complete) {
      if (!position_.checkpoints.empty()) AverageCheckpoints();
      return;
    }
    report_.reset();
    tool_.Note("interrupted after update " + std::to_string(step()) +
               "; the same command continues from here");
    InterruptFlag::Raise();
  }

  void BeginEpoch(int64_t number) override {
    if (!sampler_ || cut_for_ == number) return;
    corpus_ = sampler_->Cut(number);
    cut_for_ = number;
  }

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
    checkpoints_.WriteModels(*inference_, vocabularies_, position, step(),
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
  void ReadData() {
    train_.emplace(
        tool_,
        DataSource{.files = settings_.train_sets,
                   .from = settings_.from,
                   .units = settings_.network.trained_on,
                   .max_length = settings_.max_length,
                   .keep_text = settings_.sampling.active() ? KeepText::kBoth
                                                            : KeepText::kNone,
                   .notes = settings_.notes},
        vocabularies_, pool_);
    corpus_ = train_->corpus();
    if (settings_.sampling.active()) {
      sampler_.emplace(*train_, vocabularies_, settings_.sampling, pool_);
      BeginEpoch(0);
    }
    RequirePairs("--train-sets", *train_);
    const bool pairs = settings_.network.trained_on == TrainedOn::kPairs;
    tool_.Note(std::to_string(corpus_.size()) +
               (pairs ? " pairs" : " sentences") + " to train on, " +
               LeftOut(*train_));
    if (settings_.valid_sets.empty()) return;
    valid_.emplace(
        tool_,
        DataSource{.files = settings_.valid_sets,
                   .from = settings_.from,
                   .units = settings_.network.trained_on,
                   .max_length = std::min(kMaxValidationLength,
                                          MaxSidePieces(settings_.network)),
                   .keep_text = KeepText::kTarget},
        vocabularies_, pool_);
    RequirePairs("--valid-sets", *valid_);
    validator_.emplace(*valid_, vocabularies_, settings_.valid_metrics, pool_,
                       processes_);
  }

  static void RequirePairs(const std::string& option,
                           const TrainingData& data) {
    if (data.corpus().size() > 0) return;
    ThrowBadData(option + ": there is nothing to learn from (" + LeftOut(data) +
                 ")");
  }

  void BuildNetwork() {
    FitNetwork(vocabularies_, settings_);
    const TransformerConfig& config = settings_.network;
    network_ = std::make_unique<Transformer>(config);
    network_->parameters().Allocate();
    network_->parameters().Initialize(tool_.options().seed);
    if (!settings_.init_model.empty()) {
      CopyWeights(settings_.init_model, vocabularies_, *network_);
    }
    inference_ = std::make_unique<Transformer>(config);
    inference_->parameters().Allocate();
    trainer_.emplace(*network_, corpus_, BoundaryOf(vocabularies_),
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
    updates_per_epoch_ = UpdatesPerEpoch(corpus_, loop_);
    tool_.Note(std::to_string(network_->parameters().size()) + " parameters, " +
               std::to_string(updates_per_epoch_) + " updates an epoch");
  }

  void Estimate() {
    const auto estimate = EstimateTraining(
        {.settings = settings_,
         .pairs = *train_,
         .corpus = corpus_,
         .num_validation_pairs = valid_ ? valid_->corpus().size() : 0,
         .network = *network_,
         .trainer = *trainer_,
         .loop = loop_,
         .ranks = ranks_});
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

  // As RunTraining; a divergence says where its pairs come from.
  bool Train() {
    try {
      return RunTraining(*trainer_, corpus_, loop_, *this, position_);
    } catch (const Divergence& divergence) {
      throw Error(divergence.code(),
                  std::string(divergence.what()) + "; its batch is " +
                      train_->places().List(divergence.batch()));
    }
  }

  void AverageCheckpoints() {
    checkpoints_.Average(vocabularies_, position_, *inference_);
    inference_->Pack();
    if (validator_) values_ = validator_->Validate(*trainer_, *inference_);
    report_->Averaged(values_, position_, step(), epochs_);
    checkpoints_.WriteModel(*inference_, vocabularies_);
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

  int64_t step() const { return trainer_->state().step; }

  Tool& tool_;
  TrainSettings& settings_;
  const Ranks& ranks_;
  Communicator& processes_;
  Checkpoints checkpoints_;
  WorkerPool pool_;
  VocabularyPair vocabularies_;
  std::optional<TrainReport> report_;
  std::optional<TrainingData> train_, valid_;
  PairCorpus corpus_;  // of this epoch
  std::optional<SubwordSampler> sampler_;
  std::optional<int64_t> cut_for_;  // the epoch that corpus_ was cut for
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
