#include "tools/train_corpora.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "lib/base/error.h"
#include "tools/train_vocabularies.h"

namespace pipeformer {
namespace {

constexpr int64_t kMaxValidationLength = 2000;  // pieces of either side

DataSource TrainSource(const TrainSettings& settings) {
  return {.files = settings.train_sets,
          .from = settings.from,
          .units = settings.network.trained_on,
          .max_length = settings.max_length,
          .keep_text =
              settings.sampling.active() ? KeepText::kBoth : KeepText::kNone,
          .notes = settings.notes};
}

DataSource ValidSource(const TrainSettings& settings) {
  return {.files = settings.valid_sets,
          .from = settings.from,
          .units = settings.network.trained_on,
          .max_length =
              std::min(kMaxValidationLength, MaxSidePieces(settings.network)),
          .keep_text = KeepText::kTarget};
}

std::string LeftOut(const TrainingData& data) {
  const std::string weightless =
      data.num_weightless() == 0
          ? ""
          : ", " + std::to_string(data.num_weightless()) + " of weight 0";
  return std::to_string(data.num_blank()) + " blank and " +
         std::to_string(data.num_long()) + " too long" + weightless +
         " left out";
}

void RequirePairs(const std::string& option, const TrainingData& data) {
  if (data.corpus().size() > 0) return;
  ThrowBadData(option + ": there is nothing to learn from (" + LeftOut(data) +
               ")");
}

}  // namespace

TrainCorpora::TrainCorpora(Tool& tool, const TrainSettings& settings,
                           WorkerPool& pool)
    : vocabularies_(LoadVocabularies(settings)),
      train_(tool, TrainSource(settings), vocabularies_, pool),
      of_epoch_(train_.corpus()) {
  if (settings.sampling.active()) {
    sampler_.emplace(train_, vocabularies_, settings.sampling, pool);
    BeginEpoch(0);
  }
  RequirePairs("--train-sets", train_);
  const bool pairs = settings.network.trained_on == TrainedOn::kPairs;
  tool.Note(std::to_string(of_epoch_.size()) +
            (pairs ? " pairs" : " sentences") + " to train on, " +
            LeftOut(train_));
  if (settings.valid_sets.empty()) return;
  valid_.emplace(tool, ValidSource(settings), vocabularies_, pool);
  RequirePairs("--valid-sets", *valid_);
}

void TrainCorpora::BeginEpoch(int64_t number) {
  if (!sampler_ || cut_for_ == number) return;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  of_epoch_ = sampler_->Cut(number);
  seconds_to_cut_ = std::chrono::duration<double>(Clock::now() - start).count();
  cut_for_ = number;
}

int64_t TrainCorpora::bytes() const {
  return train_.bytes() + (sampler_ ? sampler_->bytes() : 0);
}

}  // namespace pipeformer
