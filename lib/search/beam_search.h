// Beam search over a stream of sentences. Finished sentences leave the batch
// and waiting ones join it at once, so the matrices stay full; a sentence's
// result does not depend on the others, to the last bit. A beam of one is
// greedy search. Or, under the same roof, hypotheses drawn by chance.
// Source: Sutskever et al. 2014, section 3.2.
#ifndef PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_
#define PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/nn/transformer.h"
#include "lib/search/coverage.h"
#include "lib/search/ensemble.h"
#include "lib/search/hypothesis.h"
#include "lib/search/next_pieces.h"
#include "lib/tensor/arena.h"

namespace pipeformer {

// Whether a source may wait for its next sentence.
enum class Wait { kYes, kNo };

// Gives the next sentence. Returns false when there is none: with kNo, none
// yet; with kYes, none ever.
using NextRequest = std::function<bool(Wait, SearchRequest&)>;
using TakeResult = std::function<void(SearchResult)>;

// One worker's search; used by one thread.
class BeamSearch {
 public:
  // Requires: the networks are packed, outlive the search, are of one type and
  // have the same pieces; 1 <= n_best, and n_best <= beam_size unless
  // hypotheses are drawn. A beam may be larger than the vocabulary.
  BeamSearch(const Ensemble& ensemble, const SearchOptions& options);
  ~BeamSearch();

  // Searches every sentence of `next`. Results come in the order in which
  // they are found.
  void Run(const NextRequest& next, const TakeResult& take);

 private:
  struct Sentence;

  bool Fill(const NextRequest& next);
  int64_t LengthLimit(const SearchRequest& request) const;
  void Encode(const NextRequest& next);
  void Step();
  std::vector<Matrix> DecodeStep(Context& context);
  void Cover(int64_t first_row, Sentence& sentence);

  Ensemble ensemble_;
  SearchOptions options_;
  Arena arena_;
  std::vector<std::unique_ptr<BlockPool>> pools_;  // of each network
  std::deque<std::unique_ptr<Sentence>> ready_;    // to join
  std::vector<std::unique_ptr<Sentence>> active_;
  NextPieces next_;
  int64_t active_pieces_ = 0;
  std::unique_ptr<CoverageProbe> coverage_;  // where the options want it
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_
