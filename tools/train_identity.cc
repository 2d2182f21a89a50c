#include "tools/train_identity.h"

#include <charconv>
#include <iterator>
#include <span>

#include "formats/model_config.h"
#include "formats/sha256.h"
#include "formats/tensor_file.h"

namespace pipeformer {
namespace {

// As an option names it, in the unit it was given in (of time, seconds).
std::string LengthOf(const Stretch& stretch) {
  if (stretch.updates > 0) return std::to_string(stretch.updates) + "u";
  const bool epochs = stretch.epochs > 0;
  char text[32];
  const auto written = std::to_chars(text, std::end(text),
                                     epochs ? stretch.epochs : stretch.seconds);
  return std::string(text, written.ptr) + (epochs ? "e" : "s");
}

// The number that was typed, not its neighbour in single precision.
double Decimal(float value) {
  char text[32];
  const auto written = std::to_chars(text, std::end(text), value);
  double decimal = 0;
  std::from_chars(text, written.ptr, decimal);
  return decimal;
}

template <class Enum>
const char* NameOf(Enum wanted, EnumNames<Enum> names) {
  for (const auto& [name, value] : names) {
    if (value == wanted) return name;
  }
  return "";
}

// Of all ids, weights and links: the same in every format.
std::string HashOf(const PairCorpus& pairs) {
  Sha256 hash;
  const auto add = [&](auto list) { hash.Update(std::as_bytes(list)); };
  for (const IdList* side : {&pairs.source, &pairs.target}) {
    for (int64_t s = 0; s < side->size(); ++s) add((*side)[s]);
    int64_t offset = 0;
    add(std::span(&offset, 1));
    for (int64_t s = 0; s < side->size(); ++s) {
      offset += static_cast<int64_t>((*side)[s].size());
      add(std::span(&offset, 1));
    }
  }
  add(pairs.weights);
  add(pairs.links);
  add(pairs.link_offsets);
  return hash.HexDigest();
}

// Of what is kept beside the ids, text and links between words; empty where
// nothing is.
std::string HashOfText(const TrainingData& data) {
  if (data.target_text().empty()) return "";
  Sha256 hash;
  for (const auto* texts : {&data.source_text(), &data.target_text()}) {
    for (const std::string& text : *texts) {
      hash.Update(std::as_bytes(std::span(text)));
      hash.Update(std::as_bytes(std::span("\n", 1)));  // no text holds one
    }
  }
  for (const std::vector<Link>& links : data.word_links()) {
    const auto count = static_cast<int64_t>(links.size());
    hash.Update(std::as_bytes(std::span(&count, 1)));
    hash.Update(std::as_bytes(std::span(links)));
  }
  return hash.HexDigest();
}

}  // namespace

TrainingIdentity OptionIdentity(const TrainSettings& s) {
  TrainingIdentity identity = {
      {"network", ConfigToJson(s.network)},
      {"--max-length", s.max_length},
      {"--lm-loss", s.trainer.predict == Predict::kBoth ? "both" : "target"},
      {"--mini-batch-words", s.mini_batch_words},
      {"--optimizer-delay", s.optimizer_delay},
      {"--learn-rate", s.schedule.learning_rate},
      {"--lr-warmup", s.schedule.warmup_updates},
      {"--lr-schedule", NameOf(s.schedule.kind, kScheduleNames)},
      {"--optimizer-params",
       {Decimal(s.trainer.beta1), Decimal(s.trainer.beta2),
        Decimal(s.trainer.epsilon)}},
      {"--label-smoothing", Decimal(s.trainer.label_smoothing)},
      {"--clip-norm", s.trainer.clip_norm},
      {"--exponential-smoothing", Decimal(s.exponential_smoothing)},
      {"--guided-alignment-cost",
       NameOf(s.trainer.guide.cost, kAlignmentCostNames)},
      {"--guided-alignment-weight", Decimal(s.trainer.guide.weight)},
      {"--transformer-guided-alignment-layer", s.trainer.guide.layer + 1},
      {"--valid-metrics", s.valid_metrics},
      {"--valid-freq", LengthOf(s.valid_freq)},
      {"--early-stopping", s.early_stopping},
      {"--keep-best", s.keep_best},
      {"--average-last", s.average_last.value_or(0)},
      {"--average-best", s.average_best.value_or(0)},
      {"--sentencepiece-alphas",
       {s.sampling.source_alpha, s.sampling.target_alpha}}};
  // Of these schedules every rate depends on the end.
  if (s.schedule.kind == ScheduleKind::kLinear ||
      s.schedule.kind == ScheduleKind::kCosine) {
    identity["--after"] = LengthOf(s.after);
  }
  return identity;
}

TrainingIdentity IdentityOf(const TrainSettings& settings,
                            const IdentityParts& parts) {
  TrainingIdentity identity = TrainingIdentity::object();
  const auto add = [&](const char* what, const std::vector<std::string>& files,
                       const std::string& sha256) {
    identity[what] = IdentityOfFiles(files, sha256);
  };
  // What changes other hashes comes before them, so that it is what is named.
  const std::vector<std::string>& vocabs = settings.vocabs;
  add("source vocabulary", {vocabs.front()},
      Sha256Hex(parts.vocabularies.source->model()));
  add("target vocabulary", {vocabs.back()},
      Sha256Hex(parts.vocabularies.target->model()));
  identity.update(OptionIdentity(settings));
  identity["--seed"] = parts.seed;
  identity["processes"] = parts.num_processes;
  identity["--threads"] = parts.num_workers;
  const std::string& init = settings.init_model;
  add("--init-model", {init},
      init.empty() ? "" : TensorFile::Open(init).Metadata("sha256.weights"));
  add("training pairs", settings.train_sets, HashOf(parts.train.corpus()));
  add("text of the training pairs", settings.train_sets,
      HashOfText(parts.train));
  const TrainingData* valid = parts.valid;
  add("validation pairs", settings.valid_sets,
      valid ? HashOf(valid->corpus()) : "");
  add("text of the validation pairs", settings.valid_sets,
      valid ? HashOfText(*valid) : "");
  return identity;
}

TrainingIdentity CourseOf(const TrainSettings& settings) {
  return {{"--after", LengthOf(settings.after)},
          {"--save-freq", LengthOf(settings.save_freq)},
          {"--restart", settings.restart},
          {"--dry-run", settings.dry_run}};
}

}  // namespace pipeformer
