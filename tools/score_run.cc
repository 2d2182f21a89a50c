#include "tools/score_run.h"

#include "lib/base/error.h"

namespace pipeformer {

std::vector<Option> ScoreOptions(ScoreSettings& settings) {
  std::vector<Option> options = DeclareScoreMetrics(settings.metrics);
  for (Option& option : DeclareScoreModel(settings.model)) {
    options.push_back(std::move(option));
  }
  options.push_back({.name = "to",
                     .value = "json|jsonl|text|tensors",
                     .help = "json is laid out as sacreBLEU's (the default "
                             "with --references); a model gives jsonl (the "
                             "default with --model), text or tensors",
                     .target = &settings.to});
  return options;
}

namespace {

// Throws Error (64) unless the settings are of exactly one side.
void CheckSides(const ScoreSettings& settings) {
  const bool metrics = !settings.metrics.references.empty();
  const bool model = !settings.model.model.empty();
  if (metrics == model) {
    ThrowUsage(metrics ? "--references and --model do not go together; run "
                         "score twice"
                       : "give --references FILE... or --model FILE");
  }
  if (metrics && settings.to == "tensors") {
    ThrowUsage(
        "--to tensors is for --model; with --references give json, jsonl or "
        "text");
  }
  if (metrics && settings.model != ScoreModelOptions()) {
    ThrowUsage(
        "--from, --precision, --summary and --distribution go with --model; "
        "hypotheses are lines of text, as decode writes them");
  }
  if (model && settings.metrics != ScoreMetricsOptions()) {
    ThrowUsage("the options of metrics go with --references, not with --model");
  }
  if (model && settings.to == "json") {
    ThrowUsage(
        "--to json is for --references; with --model give jsonl or text");
  }
}

}  // namespace

void RunScore(Tool& tool, const ScoreSettings& settings) {
  CheckSides(settings);
  const auto format = [&](const char* usual) {
    return settings.to.empty() ? usual : settings.to;
  };
  if (settings.model.model.empty()) {
    RunScoreMetrics(settings.metrics, format("json"), tool);
  } else {
    RunScoreModel(settings.model, format("jsonl"), tool);
  }
}

}  // namespace pipeformer
