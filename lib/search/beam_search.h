// Beam search over a stream of sentences. Finished sentences leave the batch
// and waiting ones join it at once, so the matrices stay full; a sentence's
// result does not depend on the others, to the last bit. A beam of one is
// greedy search. Or, under the same roof, hypotheses drawn by chance.
// Source: Sutskever et al. 2014, section 3.2.
#ifndef PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_
#define PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lib/nn/transformer.h"
#include "lib/ops/cross_entropy.h"
#include "lib/search/hypothesis.h"
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
  // Requires: `model` is packed and outlives the search; 1 <= n_best, and
  // n_best <= beam_size unless hypotheses are drawn. A beam may be larger than
  // the vocabulary.
  BeamSearch(const Transformer& model, const SearchOptions& options);
  ~BeamSearch();

  // Searches every sentence of `next`. Results come in the order in which
  // they are found.
  void Run(const NextRequest& next, const TakeResult& take);

 private:
  struct Live;
  struct Sentence;

  bool Fill(const NextRequest& next);
  int64_t LengthLimit(int64_t source_pieces) const;
  void Encode(size_t first);
  void Step();
  void Choose(Matrix hidden, const std::vector<int64_t>& first_row);
  void ChooseRow(Sentence& sentence, size_t number, std::span<float> logits);
  void Hide(const Sentence& sentence, const Hypothesis& hypothesis,
            std::span<float> logits) const;
  int64_t width() const {
    return options_.sampling.active() ? options_.n_best : options_.beam_size;
  }
  void Advance(Sentence& sentence);
  SearchResult Finish(Sentence& sentence) const;
  std::unique_ptr<SentenceCache> TakeCache();

  const Transformer& model_;
  SearchOptions options_;
  Arena arena_;
  std::vector<std::unique_ptr<Sentence>> active_;
  std::vector<std::unique_ptr<SentenceCache>> free_caches_;
  std::vector<Candidate> best_;
  int64_t active_pieces_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_BEAM_SEARCH_H_
