#include "tools/train_course_options.h"

#include <functional>
#include <string>

namespace pipeformer {
namespace {

std::function<void(const std::string&)> StretchOption(const std::string& option,
                                                      Stretch& target) {
  return [=, &target](const std::string& text) {
    target = ParseStretch(option, text);
  };
}

}  // namespace

std::vector<Option> CourseOptions(TrainSettings& s) {
  return {
      {.name = "after",
       .value = "N{e,u,s,m,h}",
       .help = "end after so many epochs, updates, seconds, minutes or hours: "
               "30e, 20Ku, 4m",
       .target = StretchOption("after", s.after)},
      {.name = "valid-freq",
       .value = "N{e,u,s,m,h}",
       .help = "validate and save every so often (1e)",
       .target = StretchOption("valid-freq", s.valid_freq)},
      {.name = "save-freq",
       .value = "N{e,u,s,m,h}",
       .help = "between validations, save the state for resuming every so "
               "often (5m)",
       .target = StretchOption("save-freq", s.save_freq)},
      {.name = "valid-metrics",
       .value = "M...",
       .help = "cross-entropy, bleu, chrf; the first one stops early and "
               "decides what is best",
       .target = &s.valid_metrics},
      {.name = "early-stopping",
       .value = "N",
       .help = "end after so many validations without a better one, 0 never",
       .target = &s.early_stopping,
       .min = 0},
      {.name = "keep-best",
       .value = "",
       .help = "--model keeps the best validated weights, not the last ones; "
               "those that are best by a further metric stand in "
               "FILE.best-METRIC.safetensors",
       .target = &s.keep_best},
      {.name = "average-last",
       .value = "N",
       .help = "at the end --model holds the average of the weights of the "
               "last N validations, kept as FILE.update-U.safetensors",
       .target = &s.average_last,
       .min = 1,
       .max = 1000},
      {.name = "average-best",
       .value = "N",
       .help = "the same of the N best validations by the first metric",
       .target = &s.average_best,
       .min = 1,
       .max = 1000},
      {.name = "dry-run",
       .value = "",
       .help = "read the data, train for two seconds, write nothing but an "
               "estimate of tokens, memory and time: one JSON object on "
               "standard output",
       .target = &s.dry_run},
  };
}

}  // namespace pipeformer
