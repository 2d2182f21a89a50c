#include "tools/train_settings.h"

#include <charconv>
#include <cmath>

#include "lib/base/error.h"
#include "lib/nn/pair_batch.h"

namespace pipeformer {
namespace {

// Vaswani et al. 2017, table 3, for base and big; small and tiny are the
// sizes that fit small corpora and ordinary processors.
void ApplyPreset(const std::string& task, TrainSettings& s) {
  TransformerConfig& n = s.network;
  const auto size = [&n](int64_t d_model, int64_t heads, int64_t ffn,
                         int64_t layers) {
    n.d_model = d_model;
    n.num_heads = heads;
    n.ffn_dim = ffn;
    n.encoder_layers = n.decoder_layers = layers;
  };
  s.schedule.kind = ScheduleKind::kInverseSqrt;
  if (task == "transformer-tiny") {
    size(128, 4, 256, 4);
    n.dropout = 0.3f;
    s.schedule.learning_rate = 0.005;
    s.schedule.warmup_updates = 1000;
  } else if (task == "transformer-small") {
    size(256, 4, 1024, 3);
    n.dropout = 0.2f;
    s.schedule.learning_rate = 0.001;
    s.schedule.warmup_updates = 2000;
  } else if (task == "transformer-big") {
    size(1024, 16, 4096, 6);
    n.dropout = 0.3f;
    s.schedule.learning_rate = 0.0005;
    s.schedule.warmup_updates = 4000;
  } else {
    size(512, 8, 2048, 6);
    n.dropout = 0.1f;
    s.schedule.learning_rate = 0.0007;  // the peak of the paper's schedule
    s.schedule.warmup_updates = 4000;
  }
}

}  // namespace

void ApplyTask(int argc, char** argv, TrainSettings& settings) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--task" && i + 1 < argc) settings.task = argv[i + 1];
    if (argument.starts_with("--task=")) settings.task = argument.substr(7);
  }
  ApplyPreset(settings.task, settings);
}

namespace {

// What a language model learns from, and what only it may be told.
void CompleteType(TrainSettings& s) {
  TransformerConfig& n = s.network;
  if (!n.is_language_model()) {
    if (!s.lm_data.empty()) {
      ThrowUsage("--lm-data goes with --type transformer-lm");
    }
    if (s.trainer.predict == Predict::kBoth) {
      ThrowUsage("--lm-loss both goes with --type transformer-lm");
    }
    return;
  }
  n.encoder_layers = 0;
  if (s.lm_data.empty()) {
    s.lm_data = s.from == "text" ? "sentences" : "pairs";
  }
  if (s.lm_data == "pairs") return;
  if (s.trainer.predict == Predict::kBoth) {
    ThrowUsage("--lm-loss both goes with pairs; sentences have no source");
  }
  n.trained_on = TrainedOn::kSentences;
  if (s.from == "tsv") {
    ThrowUsage(
        "--lm-data sentences needs --from text, jsonl or tensors; tsv lines "
        "are pairs");
  }
}

void CompletePositions(TrainSettings& s) {
  TransformerConfig& n = s.network;
  if (s.relative_clip && n.position != PositionKind::kRelative) {
    ThrowUsage("--relative-clip goes with --position relative");
  }
  n.relative_clip = s.relative_clip.value_or(n.relative_clip);
  // A learned vector exists for each position: few more than training shows.
  const int64_t learned = n.is_language_model() ? 1024 : 512;
  n.max_positions = s.max_positions.value_or(
      n.position == PositionKind::kLearned ? learned : n.max_positions);
  if (s.max_length <= MaxSidePieces(n)) return;
  ThrowUsage("--max-length is " + std::to_string(s.max_length) +
             ", with --max-positions " + std::to_string(n.max_positions) +
             " it may be " + std::to_string(MaxSidePieces(n)) +
             " at most; lower the one or raise the other");
}

void CheckHeads(const TransformerConfig& n) {
  if (n.d_model % n.num_heads == 0) return;
  ThrowUsage("--dim-emb is " + std::to_string(n.d_model) +
             ", which --transformer-heads " + std::to_string(n.num_heads) +
             " does not divide; choose a multiple");
}

void CheckRotary(const TransformerConfig& n) {
  if (n.position != PositionKind::kRotary || n.head_dim() % 2 == 0) return;
  ThrowUsage("--position rotary turns pairs, but --dim-emb " +
             std::to_string(n.d_model) + " over --transformer-heads " +
             std::to_string(n.num_heads) + " gives heads of " +
             std::to_string(n.head_dim()) + " dimensions; make it even");
}

void CompleteGuide(TrainSettings& s) {
  if (s.notes.alignment == "none") s.notes.alignment.clear();
  GuideOptions& guide = s.trainer.guide;
  guide.cost = s.guided_cost.value_or(guide.cost);
  guide.weight = s.guided_weight.value_or(guide.weight);
  const int64_t layer = s.guided_layer.value_or(0);
  if (layer > s.network.decoder_layers) {
    ThrowUsage("--transformer-guided-alignment-layer is " +
               std::to_string(layer) + ", --dec-depth " +
               std::to_string(s.network.decoder_layers));
  }
  guide.layer =
      static_cast<int>((layer == 0 ? s.network.decoder_layers : layer) - 1);
  if (s.notes.alignment.empty()) {
    if (!s.guided_cost && !s.guided_weight && !s.guided_layer) return;
    ThrowUsage(
        "--guided-alignment-cost, --guided-alignment-weight and "
        "--transformer-guided-alignment-layer go with --guided-alignment");
  }
  if (s.network.is_language_model()) {
    ThrowUsage(
        "--guided-alignment guides attention from target to source, which "
        "--type transformer-lm has not");
  }
  if (s.from == "tensors") {
    ThrowUsage(
        "--guided-alignment links words, which packed corpora do not know; "
        "take --from tsv, text or jsonl");
  }
  if (s.notes.alignment == kOfRecords && s.from != "jsonl") {
    ThrowUsage("--guided-alignment records goes with --from jsonl");
  }
}

void CheckMetrics(const TrainSettings& s) {
  for (const std::string& metric : s.valid_metrics) {
    if (metric == "cross-entropy") continue;
    if (metric != "bleu" && metric != "chrf") {
      ThrowUsage("--valid-metrics has '" + metric +
                 "'; known are cross-entropy, bleu, chrf");
    }
    if (s.network.trained_on == TrainedOn::kSentences) {
      ThrowUsage("--valid-metrics has '" + metric +
                 "', but a language model of sentences translates nothing; "
                 "take cross-entropy");
    }
  }
}

void CompleteSampling(TrainSettings& s, uint64_t seed) {
  const std::vector<double>& alphas = s.sentencepiece_alphas;
  if (alphas.empty()) return;
  for (const double alpha : alphas) {
    if (alpha >= 0 && alpha <= 1) continue;
    ThrowUsage("--sentencepiece-alphas has " + std::to_string(alpha) +
               ", it takes numbers in [0, 1]");
  }
  if (alphas.size() > 2) {
    ThrowUsage("--sentencepiece-alphas takes one number or one for each side");
  }
  s.sampling = {.source_alpha = alphas.front(),
                .target_alpha = alphas.back(),
                .max_length = s.max_length,
                .seed = seed};
  if (s.sampling.active() && s.from == "tensors") {
    ThrowUsage(
        "--sentencepiece-alphas cuts text anew; packed tensors hold pieces "
        "that are cut already, take --from tsv, text or jsonl");
  }
}

void CompleteAverage(TrainSettings& s) {
  if (s.average_last && s.average_best) {
    ThrowUsage(
        "--average-last and --average-best name two averages, --model holds "
        "one; give either");
  }
  if (s.average_best && s.valid_sets.empty()) {
    ThrowUsage("--average-best needs --valid-sets to know what is best");
  }
  if (s.average_last) s.checkpoints = {KeepCheckpoints::kLast, *s.average_last};
  if (s.average_best) s.checkpoints = {KeepCheckpoints::kBest, *s.average_best};
}

void CompleteOptimiser(TrainSettings& s) {
  if (!s.adam.empty()) {
    if (s.adam.size() != 3 || !(s.adam[0] >= 0 && s.adam[0] < 1) ||
        !(s.adam[1] >= 0 && s.adam[1] < 1) || !(s.adam[2] > 0)) {
      ThrowUsage(
          "--optimizer-params takes beta1 and beta2 in [0, 1) and a "
          "positive epsilon");
    }
    s.trainer.beta1 = static_cast<float>(s.adam[0]);
    s.trainer.beta2 = static_cast<float>(s.adam[1]);
    s.trainer.epsilon = static_cast<float>(s.adam[2]);
  }
  if (s.exponential_smoothing > 0) {
    s.trainer.exponential_smoothing = 1 - s.exponential_smoothing;
  }
}

}  // namespace

void CompleteSettings(TrainSettings& s, uint64_t seed) {
  if (s.vocabs.size() > 2) {
    ThrowUsage("--vocabs takes one joint vocabulary or two, not " +
               std::to_string(s.vocabs.size()));
  }
  CompleteType(s);
  CheckHeads(s.network);
  CheckRotary(s.network);
  CompletePositions(s);
  if (s.from == "text" && s.network.trained_on == TrainedOn::kPairs &&
      (s.train_sets.size() != 2 || s.valid_sets.size() % 2 != 0)) {
    ThrowUsage(
        "--from text takes two files, source and target, in "
        "--train-sets and in --valid-sets");
  }
  if (s.keep_best && s.valid_sets.empty()) {
    ThrowUsage("--keep-best needs --valid-sets to know what is best");
  }
  CheckMetrics(s);
  CompleteSampling(s, seed);
  CompleteAverage(s);
  CompleteGuide(s);
  CompleteOptimiser(s);
  s.trainer.seed = seed;
  s.schedule.d_model = s.network.d_model;
}

Stretch ParseStretch(const std::string& option, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string unit(rest, end);
  if (error == std::errc() && value > 0 && std::isfinite(value)) {
    if (unit == "e") return {.epochs = value};
    if (unit == "Ku") {
      value *= 1000;
      unit = "u";
    }
    if (unit == "u" && value >= 1 && value < 1e15) {
      return {.updates = static_cast<int64_t>(value)};
    }
    if (unit == "s") return {.seconds = value};
    if (unit == "m") return {.seconds = value * 60};
    if (unit == "h") return {.seconds = value * 3600};
  }
  ThrowUsage("--" + option + " is '" + text +
             "'; give a number and its unit: e epochs, u or Ku updates, "
             "s, m or h of time, as in 30e, 20Ku, 4m");
}

}  // namespace pipeformer
