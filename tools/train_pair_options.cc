#include "tools/train_pair_options.h"

namespace pipeformer {

std::vector<Option> PairOptions(TrainSettings& s) {
  return {
      {.name = "data-weighting",
       .value = "FILE",
       .help = "a number for each line of --train-sets: how often the loss of "
               "its pair counts, 0 leaves it out; records may have a key "
               "'weight' instead",
       .target = &s.notes.weights},
  };
}

}  // namespace pipeformer
