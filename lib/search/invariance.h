// Whether a search keeps its promise: that the result of a sentence depends on
// the sentence alone.
#ifndef PIPEFORMER_LIB_SEARCH_INVARIANCE_H_
#define PIPEFORMER_LIB_SEARCH_INVARIANCE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/search/beam_search.h"

namespace pipeformer {

// A sentence whose result was another one.
struct Variance {
  int64_t index;    // of the request
  std::string way;  // in which it was searched
};

// Searches `requests`, whose indices differ, all together; then alone, in
// reverse order in small batches, and divided among `threads` at once; and
// compares pieces, log-probabilities and scores to the last bit.
std::vector<Variance> FindVariances(const Ensemble& ensemble,
                                    const SearchOptions& options,
                                    std::span<const SearchRequest> requests,
                                    int64_t threads);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_INVARIANCE_H_
