// What `train` is told: the network, the optimiser and the course of training,
// with the presets of --task.
#ifndef PIPEFORMER_TOOLS_TRAIN_SETTINGS_H_
#define PIPEFORMER_TOOLS_TRAIN_SETTINGS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_config.h"
#include "lib/nn/config.h"
#include "lib/train/schedule.h"
#include "lib/train/trainer.h"
#include "lib/train/training_loop.h"
#include "tools/pair_notes.h"
#include "tools/subword_sampler.h"

namespace pipeformer {

inline constexpr EnumNames<ScheduleKind> kScheduleNames = {
    {"inverse-sqrt", ScheduleKind::kInverseSqrt},
    {"noam", ScheduleKind::kNoam},
    {"cosine", ScheduleKind::kCosine},
    {"linear", ScheduleKind::kLinear},
    {"constant", ScheduleKind::kConstant}};

inline constexpr EnumNames<AlignmentCost> kAlignmentCostNames = {
    {"ce", AlignmentCost::kCrossEntropy}, {"mse", AlignmentCost::kMeanSquare}};

struct TrainSettings {
  std::vector<std::string> train_sets = {"-"};
  std::vector<std::string> valid_sets;
  std::string from = "tsv";
  std::string lm_data;  // sentences or pairs; empty: as --from suggests
  std::vector<std::string> vocabs;
  std::string model;
  std::string init_model;
  NoteFiles notes;
  // Of guided alignment: the decoder layer from 1, 0 the last, where given.
  std::optional<int64_t> guided_layer;
  std::optional<AlignmentCost> guided_cost;
  std::optional<float> guided_weight;
  int64_t max_length = 256;  // pieces of either side of a training pair
  std::vector<double> sentencepiece_alphas;  // where given: one or a side each
  SubwordSampling sampling;

  std::string task = "transformer-base";
  TransformerConfig network;
  std::optional<int64_t> max_positions;  // empty: as suits the positions
  std::optional<int64_t> relative_clip;  // empty: the network's default
  std::optional<bool> tied_embeddings;   // empty: with a joint vocabulary
  TrainerOptions trainer;
  Schedule schedule;
  std::vector<double> adam;         // beta1, beta2, epsilon, where given
  float exponential_smoothing = 0;  // weight of an update in the averages
  int64_t mini_batch_words = 4096;
  int64_t optimizer_delay = 1;
  Stretch after{.epochs = 30};
  Stretch valid_freq{.epochs = 1};
  Stretch save_freq{.seconds = 300};
  std::vector<std::string> valid_metrics = {"cross-entropy"};
  int64_t early_stopping = 10;
  bool keep_best = false;
  std::optional<int64_t> average_last, average_best;  // checkpoints
  CheckpointRule checkpoints;                         // as these two say
  bool restart = false;
  bool dry_run = false;
};

// Applies --task from `arguments` before the other options are parsed, so
// that those override the preset. An unknown one is left to the parser.
void ApplyTask(int argc, char** argv, TrainSettings& settings);

// Fills what follows from other settings and throws Error (64) when options
// contradict each other.
void CompleteSettings(TrainSettings& settings, uint64_t seed);

// "30e", "20Ku", "500u", "4m", "240s", "2h" as a stretch of training.
// Throws Error (64).
Stretch ParseStretch(const std::string& option, const std::string& text);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAIN_SETTINGS_H_
