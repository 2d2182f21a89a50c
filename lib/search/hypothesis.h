// What a search takes and gives.
#ifndef PIPEFORMER_LIB_SEARCH_HYPOTHESIS_H_
#define PIPEFORMER_LIB_SEARCH_HYPOTHESIS_H_

#include <cstdint>
#include <vector>

#include "lib/nn/ragged.h"
#include "lib/search/sampling.h"

namespace pipeformer {

// One translation. Log-probabilities are natural and include the end symbol.
struct Hypothesis {
  std::vector<int32_t> ids;            // without begin and end symbols
  std::vector<float> token_log_probs;  // [ids + 1], the end symbol last
  double log_prob = 0;                 // their sum, in order
  double score = 0;                    // normalised, see NormalizedScore
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
  double normalize = 0.6;  // alpha of NormalizedScore
  // A translation has at most this many pieces and the end symbol:
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
