// Decodes step by step as a search would, but at random: several hypotheses to
// a sentence, beams that are reordered, sentences that come and go. Keeps what
// each step gave, for comparing it with the whole sequence.
#ifndef PIPEFORMER_TESTS_PROPERTIES_STEP_DECODER_H_
#define PIPEFORMER_TESTS_PROPERTIES_STEP_DECODER_H_

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/transformer.h"

namespace pipeformer {

using Weights = std::vector<std::vector<float>>;  // [heads][padded keys]

// How the rows of a beam's new positions are numbered: a search may do it as
// it likes.
enum class RowOrder { kAscending, kDescending };

// What one step gave one hypothesis, kept under its history row.
struct StepResult {
  std::vector<float> logits;
  std::vector<Weights> self, cross;  // a layer each; no cross without memory
};

struct SteppedHypothesis {
  std::vector<int32_t> pieces;  // given to the steps, from the first on
  std::vector<int32_t> rows;    // the history row of every position
};

// A sentence in the making.
struct SteppedSentence {
  SteppedSentence(BlockPool& pool, int64_t num_layers)
      : cache(pool, num_layers) {}

  SentenceCache cache;
  std::vector<int32_t> source;
  int64_t start = 0;     // joins at this step
  int64_t length = 0;    // steps
  int32_t first_id = 0;  // the piece of the first step, the network's choice
  std::vector<SteppedHypothesis> beam;
  std::vector<StepResult> results;  // by history row
};

class StepDecoder {
 public:
  // Requires: `network` is packed and outlives this.
  StepDecoder(const Transformer& network, RowOrder order)
      : network_(network), order_(order) {}

  // Decodes all sentences, each from its own start for its own length.
  void Run(std::deque<SteppedSentence>& sentences);

 private:
  void Join(const std::vector<SteppedSentence*>& joining);
  void Branch(SteppedSentence& s);
  void Step(const std::vector<SteppedSentence*>& active);

  const Transformer& network_;
  RowOrder order_;
  Random random_{99};
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_PROPERTIES_STEP_DECODER_H_
