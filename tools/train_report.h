// What a training tells: a progress line for people, a line for each
// validation, and records for the log (schemas/training.schema.json).
#ifndef PIPEFORMER_TOOLS_TRAIN_REPORT_H_
#define PIPEFORMER_TOOLS_TRAIN_REPORT_H_

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/train/training_loop.h"
#include "tools/mpi/ranks.h"
#include "tools/support/progress.h"
#include "tools/support/tool.h"
#include "tools/validator.h"

namespace pipeformer {

// Seconds that a training will take from here on, where `seconds` of it led
// from `share_before` of the whole to `share`; negative when nobody knows.
double SecondsLeft(double share_before, double share, double seconds);

class TrainReport {
 public:
  TrainReport(Tool& tool, const Ranks& ranks)
      : tool_(tool), ranks_(ranks), progress_(tool, "%") {
    StartTimes();
  }

  // After an update. The log gets one record every few seconds and before each
  // validation.
  void Updated(const UpdateReport& report);

  // After a validation, whose time does not count as training; `values` may be
  // empty.
  void Validated(const std::vector<MetricValue>& values,
                 const TrainingPosition& position, int64_t step, double epochs);

  // After the validation of the average that ends a training.
  void Averaged(const std::vector<MetricValue>& values,
                const TrainingPosition& position, int64_t step, double epochs);

  // Seconds since this run began.
  double Seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  // Sums over a stretch of updates.
  struct Tally {
    double loss = 0, weight = 0, alignment = 0;
    int64_t target_pieces = 0;
    int64_t given_pieces = 0;
    double seconds = 0;
    double seconds_in_sums = 0;

    void Add(const UpdateResult& result);
    double MeanLoss() const;
    double MeanAlignment() const;  // of the cost of guided alignment
    double TokensPerSecond() const;
  };

  static void AddAlignment(const Tally& tally, nlohmann::ordered_json* record);
  void ShowProgress(const UpdateReport& report);
  void LogUpdates();
  void StartTimes();

  Tool& tool_;
  const Ranks& ranks_;
  Progress progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = Clock::now();  // end of the last update
  Tally since_log_, since_validation_;
  UpdateReport latest_;
  double seconds_in_sums_ = 0;  // up to the last update
  double first_share_ = -1;     // done when the first update had been made
  Clock::time_point first_update_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_REPORT_H_
