#include "tools/train_report.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lib/base/peak_memory.h"
#include "lib/metrics/metric.h"

namespace pipeformer {
namespace {

constexpr double kLogSeconds = 5;

std::string RateText(double tokens_per_second) {
  return FormatFixed(tokens_per_second / 1000, 1) + "k tokens/s";
}

// "  bleu 30.12  chrf 55.01"
std::string ValuesText(const std::vector<MetricValue>& values) {
  std::string text;
  for (const MetricValue& v : values) {
    const int digits = v.name == "cross-entropy" ? 4 : 2;
    text += "  " + v.name + " " + FormatFixed(v.value, digits);
  }
  return text;
}

nlohmann::ordered_json ValuesJson(const std::vector<MetricValue>& values) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const MetricValue& v : values) {
    const bool nats = v.name == "cross-entropy";
    json[nats ? "cross_entropy" : v.name] = v.value;
    if (nats) json["perplexity"] = std::exp(v.value);
  }
  return json;
}

}  // namespace

void TrainReport::Tally::Add(const UpdateResult& result) {
  loss += result.loss.smoothed;
  weight += result.loss.weight;
  alignment += result.loss.alignment;
  target_pieces += result.loss.pieces;
  given_pieces += result.given_pieces;
}

double TrainReport::Tally::MeanLoss() const {
  return weight > 0 ? loss / weight : 0;
}

double TrainReport::Tally::MeanAlignment() const {
  return weight > 0 ? alignment / weight : 0;
}

double TrainReport::Tally::TokensPerSecond() const {
  return static_cast<double>(given_pieces + target_pieces) /
         std::max(seconds, 1e-9);
}

double SecondsLeft(double share_before, double share, double seconds) {
  if (share <= share_before) return -1;
  return seconds * (1 - share) / (share - share_before);
}

// Where there is guided alignment.
void TrainReport::AddAlignment(const Tally& tally,
                               nlohmann::ordered_json* record) {
  if (tally.alignment > 0) {
    (*record)["alignment_loss"] = tally.MeanAlignment();
  }
}

double TrainReport::Seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void TrainReport::Updated(const UpdateReport& report) {
  latest_ = report;
  for (Tally* tally : {&since_log_, &since_validation_}) {
    tally->Add(report.result);
    tally->seconds +=
        std::chrono::duration<double>(Clock::now() - last_).count();
    tally->seconds_in_sums += ranks_.seconds_in_sums() - seconds_in_sums_;
  }
  StartTimes();
  ShowProgress(report);
  if (since_log_.seconds >= kLogSeconds) LogUpdates();
}

// What passes from here on belongs to the next update.
void TrainReport::StartTimes() {
  last_ = Clock::now();
  seconds_in_sums_ = ranks_.seconds_in_sums();
}

void TrainReport::ShowProgress(const UpdateReport& report) {
  const double share = std::min(1.0, report.share_done);
  if (first_share_ < 0) {
    first_share_ = share;
    first_update_ = Clock::now();
  }
  const double seconds =
      std::chrono::duration<double>(Clock::now() - first_update_).count();
  const double left = SecondsLeft(first_share_, share, seconds);
  progress_.Show("step " + std::to_string(report.step) + "  " +
                 FormatFixed(share * 100, 1) + " %  loss " +
                 FormatFixed(since_log_.MeanLoss(), 3) + "  " +
                 RateText(since_log_.TokensPerSecond()) +
                 (left < 0 ? "" : "  " + ClockText(left) + " left"));
}

void TrainReport::LogUpdates() {
  if (since_log_.target_pieces == 0) return;
  nlohmann::ordered_json record = {
      {"step", latest_.step},
      {"epoch", latest_.epochs},
      {"loss", since_log_.MeanLoss()},
      {"learning_rate", latest_.learning_rate},
      {"gradient_norm", latest_.result.gradient_norm},
      {"tokens_per_second", since_log_.TokensPerSecond()},
      {"seconds", Seconds()},
      {"memory_bytes", PeakMemoryBytes()},
      {"processes", ranks_.communicator().size()},
      {"sum_share", std::min(1.0, since_log_.seconds_in_sums /
                                      std::max(since_log_.seconds, 1e-9))}};
  AddAlignment(since_log_, &record);
  tool_.Log(std::move(record));
  since_log_ = {};
}

void TrainReport::Validated(const std::vector<MetricValue>& values,
                            const TrainingPosition& position, int64_t step,
                            double epochs) {
  LogUpdates();
  std::string text = "step " + std::to_string(step) + "  epoch " +
                     FormatFixed(epochs, 2) + "  loss " +
                     FormatFixed(since_validation_.MeanLoss(), 3) + "  " +
                     RateText(since_validation_.TokensPerSecond());
  if (since_validation_.alignment > 0) {
    text += "  alignment " + FormatFixed(since_validation_.MeanAlignment(), 3);
  }
  text += ValuesText(values);
  if (!values.empty()) {
    nlohmann::ordered_json scores = ValuesJson(values);
    if (std::isfinite(position.best[0])) {
      scores["best"] = std::abs(position.best[0]);
    }
    scores["stalled"] = position.stalled;
    text += position.stalled == 0
                ? "  best"
                : "  stalled " + std::to_string(position.stalled);
    nlohmann::ordered_json record = {{"step", step},
                                     {"epoch", epochs},
                                     {"loss", since_validation_.MeanLoss()},
                                     {"seconds", Seconds()},
                                     {"memory_bytes", PeakMemoryBytes()},
                                     {"validation", std::move(scores)}};
    AddAlignment(since_validation_, &record);
    tool_.Log(std::move(record));
  }
  tool_.Note(text);
  since_validation_ = {};
  StartTimes();
}

void TrainReport::Averaged(const std::vector<MetricValue>& values,
                           const TrainingPosition& position, int64_t step,
                           double epochs) {
  std::string updates;
  for (const Checkpoint& c : position.checkpoints) {
    updates += (updates.empty() ? "" : ", ") + std::to_string(c.step);
  }
  tool_.Note("average of the weights after updates " + updates +
             ValuesText(values));
  if (values.empty()) return;
  tool_.Log({{"step", step},
             {"epoch", epochs},
             {"averaged", position.checkpoints.size()},
             {"seconds", Seconds()},
             {"memory_bytes", PeakMemoryBytes()},
             {"validation", ValuesJson(values)}});
}

}  // namespace pipeformer
