// What a training tells: a progress line for people, a line for each
// validation, and records for the log (schemas/training.schema.json).
#ifndef PIPEFORMER_TOOLS_TRAIN_REPORT_H_
#define PIPEFORMER_TOOLS_TRAIN_REPORT_H_

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/train/training_loop.h"
#include "tools/support/progress.h"
#include "tools/support/tool.h"
#include "tools/validator.h"

namespace pipeformer {

class TrainReport {
 public:
  explicit TrainReport(Tool& tool) : tool_(tool), progress_(tool, "%", 100) {}

  // After an update; `epochs` passed so far. The log gets one record every
  // few seconds.
  void Updated(const UpdateReport& report, double epochs);

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

    void Add(const UpdateResult& result, double seconds_taken);
    double MeanLoss() const;
    double MeanAlignment() const;  // of the cost of guided alignment
    double TokensPerSecond() const;
  };

  static void AddAlignment(const Tally& tally, nlohmann::ordered_json* record);
  void LogUpdates(const UpdateReport& report, double epochs);

  Tool& tool_;
  Progress progress_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = Clock::now();
  Tally since_log_, since_validation_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_REPORT_H_
