// What a search takes and gives.
#ifndef PIPEFORMER_LIB_SEARCH_HYPOTHESIS_H_
#define PIPEFORMER_LIB_SEARCH_HYPOTHESIS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/nn/ragged.h"
#include "lib/search/constraints.h"
#include "lib/search/sampling.h"

namespace pipeformer {

// One translation. Log-probabilities are natural and include the end symbol.
struct Hypothesis {
  std::vector<int32_t> ids;            // without begin and end symbols
  std::vector<float> token_log_probs;  // [ids + 1], the end symbol last
  double log_prob = 0;                 // their sum, in order
  // By which it competes: NormalizedScore, after the penalty for repetition and
  // with that for coverage, where the search has these.
  double score = 0;
};

// log_prob / length^alpha, where length counts the end symbol.
// Source: Marian's length normalisation; alpha 0 switches it off.
double NormalizedScore(double log_prob, int64_t length, double alpha);

// A sentence to translate, or to continue. `index` is the caller's, handed
// back.
struct SearchRequest {
  int64_t index = 0;  // also names the sentence's share of chance
  std::vector<int32_t> source = {};  // pieces, without the end symbol
  std::vector<int32_t> prefix = {};  // pieces every hypothesis begins with
  // Of this sentence, in place of the options'; max_length also in place of
  // max_length_factor.
  std::optional<int64_t> min_length = {}, max_length = {};
  Constraints constraints = {};  // what every result contains
};

struct SearchResult {
  int64_t index = 0;
  // Best first; none where the model gives no finite probability.
  std::vector<Hypothesis> hypotheses;
};

struct SearchOptions {
  int64_t beam_size = 5;
  int64_t n_best = 1;  // hypotheses returned, of a beam at most beam_size
  // Where active, `n_best` hypotheses are drawn, each on its own, instead of a
  // beam. Their log-probabilities are the model's, at temperature 1.
  SamplingOptions sampling = {};
  // No sequence of so many pieces comes twice in what follows the prefix; 0:
  // any may.
  int64_t no_repeat_ngram_size = 0;
  // What the log-probability of a piece that a hypothesis has already said,
  // after the prefix, is multiplied by, above 1 to discourage it. Source:
  // Keskar et al. 2019, section 4.1, with log-probabilities in place of logits,
  // whose sign means nothing.
  double repetition_penalty = 1;
  double normalize = 0.6;  // alpha of NormalizedScore
  // Times the sum over the source pieces of log(min(1, attention to it)), the
  // attention of the last layer to the source, averaged over its heads and the
  // networks, summed over the result; added to the score. 0: none.
  double coverage_penalty = 0;
  // A result has at most this many pieces, not fewer than prefix and
  // constraints, and the end symbol:
  // min(max_length, max_length_factor (source pieces) + 10); what a
  // language model continues, max_length. At the limit the end symbol is the
  // only continuation.
  int64_t max_length = 1000;
  int64_t min_length = 0;  // pieces, where the most allow so many
  double max_length_factor = 2;
  // Source pieces searched together by one worker; more sentences join as
  // others end. 0: what suits the networks (Ensemble). No result
  // depends on it.
  int64_t mini_batch_words = 0;
  Boundary boundary = {};
  std::vector<int32_t> suppressed = {};  // pieces that are never produced
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_HYPOTHESIS_H_
