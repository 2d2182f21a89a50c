// Slow, simple searches that need no cache and no batch: every step runs the
// whole sequence anew. And small helpers for tests of the real one.
#ifndef PIPEFORMER_TESTS_SEARCH_SEARCH_TWIN_H_
#define PIPEFORMER_TESTS_SEARCH_SEARCH_TWIN_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/nn/transformer.h"
#include "lib/search/beam_search.h"
#include "lib/search/ensemble.h"
#include "lib/search/hypothesis.h"
#include "tests/nn/test_network.h"

namespace pipeformer {

// A packed network of `config` with one layer a stack whose words end often:
// pieces 0 to `vocab` - 1, of which 1 begins and 2 ends a sentence.
std::unique_ptr<Transformer> SmallWorld(
    int64_t vocab, uint64_t seed, TransformerConfig config = SmallConfig());

// Random sources of 1 to `longest` pieces, none of them special.
std::vector<std::vector<int32_t>> RandomSources(size_t count, int64_t longest,
                                                int64_t vocab, uint64_t seed);

// The log-probabilities of every piece after `prefix` [target_vocab].
std::vector<float> NextLogProbs(const Transformer& model,
                                const SearchOptions& options,
                                std::span<const int32_t> source,
                                std::span<const int32_t> prefix);

// What beam search finds, by its definition (Beam::Advance), without giving up
// a hypothesis before the limit. Best first.
std::vector<Hypothesis> SlowBeamSearch(const Transformer& model,
                                       const SearchOptions& options,
                                       const std::vector<int32_t>& source);

// Beam search of `sources`, in their order; n_best as in `options`.
std::vector<std::vector<Hypothesis>> Search(
    const Ensemble& ensemble, const SearchOptions& options,
    const std::vector<std::vector<int32_t>>& sources);

// The same for requests, whose indices it sets to their places.
std::vector<std::vector<Hypothesis>> SearchRequests(
    const Ensemble& ensemble, const SearchOptions& options,
    std::vector<SearchRequest> requests);

// Every bit of two hypotheses is the same.
bool Same(const Hypothesis& a, const Hypothesis& b);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_SEARCH_SEARCH_TWIN_H_
