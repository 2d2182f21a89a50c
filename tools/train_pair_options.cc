#include "tools/train_pair_options.h"

#include <charconv>
#include <cmath>
#include <string>

#include "formats/numbers.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

float ParseGuideWeight(const std::string& text) {
  double weight = -1;
  try {
    weight = ParseDouble(text);
  } catch (const Error&) {  // told with the option
  }
  if (weight > 0 && weight <= 1000) return static_cast<float>(weight);
  ThrowUsage("--guided-alignment-weight is '" + text +
             "', it must be a number above 0, at most 1000");
}

int64_t ParseLayer(const std::string& text) {
  if (text == "last") return 0;
  int64_t layer = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, layer);
  if (error == std::errc() && rest == end && layer >= 1) return layer;
  ThrowUsage("--transformer-guided-alignment-layer is '" + text +
             "'; give last or a number from 1");
}

}  // namespace

std::vector<Option> PairOptions(TrainSettings& s) {
  return {
      {.name = "data-weighting",
       .value = "FILE",
       .help = "a number for each line of --train-sets: how often the loss of "
               "its pair counts, 0 leaves it out; records may have a key "
               "'weight' instead",
       .target = &s.notes.weights},
      {.name = "guided-alignment",
       .value = "FILE",
       .help = "a line for each of --train-sets with the links of its words, "
               "0-0 1-2, which attention then learns; 'records': the key "
               "'alignment' of jsonl pairs; 'none'",
       .target = &s.notes.alignment},
      {.name = "guided-alignment-cost",
       .value = "ce|mse",
       .help = "cross-entropy or mean squared error (ce)",
       .target =
           [&s](const std::string& text) {
             for (const auto& [name, cost] : kAlignmentCostNames) {
               if (text == name) s.guided_cost = cost;
             }
           }},
      {.name = "guided-alignment-weight",
       .value = "W",
       .help = "how much the alignment counts beside the loss (0.1)",
       .target =
           [&s](const std::string& text) {
             s.guided_weight = ParseGuideWeight(text);
           }},
      {.name = "transformer-guided-alignment-layer",
       .value = "last|N",
       .help = "the decoder layer whose attention is guided, from 1; decode "
               "and inspect-attention read the last (last)",
       .target =
           [&s](const std::string& text) {
             s.guided_layer = ParseLayer(text);
           }},
  };
}

}  // namespace pipeformer
