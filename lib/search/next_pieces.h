// From the hidden states of a step to the pieces that follow: the most probable
// ones, or one drawn by chance, with their log-probabilities. Logits come part
// by part, so that those of many rows stay in the cache.
#ifndef PIPEFORMER_LIB_SEARCH_NEXT_PIECES_H_
#define PIPEFORMER_LIB_SEARCH_NEXT_PIECES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/context.h"
#include "lib/ops/cross_entropy.h"
#include "lib/search/ensemble.h"
#include "lib/search/hypothesis.h"

namespace pipeformer {

// What may follow one row.
struct NextRule {
  int32_t only = -1;                 // the one piece that may, or -1
  std::vector<int32_t> hidden = {};  // pieces that must not, beside those that
                                     // are suppressed always
  std::vector<int32_t> wanted = {};  // pieces to be given in any case
  bool wanted_only = false;          // and no others
  std::vector<int32_t> penalized = {};  // pieces said before, sorted
  size_t most = 1;                      // pieces to be given beside those
  double chance = 0;                    // where one is drawn: uniform in [0, 1)
};

struct NextPiece {
  int32_t id;
  float log_prob;  // the model's
  float rank;      // the same after the penalty for repetition
};

// Used by one thread.
class NextPieces {
 public:
  // Of the options it takes those of sampling, the penalty for repetition, and
  // the pieces suppressed.
  // Requires: the networks outlive this.
  NextPieces(const Ensemble& ensemble, const SearchOptions& options);

  // Finds the pieces for all rows.
  //   hidden  of each network, [rows, its d_model];  rules  [rows]
  void Find(Context& context, std::span<const Matrix> hidden,
            std::span<const NextRule> rules);

  // The pieces of row `r`: the best by rank, fewer than its rule's most where
  // no others have a probability, and those wanted; one where it was drawn.
  std::span<const NextPiece> Of(size_t r) const {
    return std::span(pieces_).subspan(ends_[r], ends_[r + 1] - ends_[r]);
  }

 private:
  void FindBlock(Context& context, std::span<const Matrix> hidden,
                 std::span<const NextRule> rules);
  void SeePart(int64_t first, Matrix logits, std::span<const NextRule> rules);
  void Keep(const NextRule& rule, size_t row);
  void KeepBest(const NextRule& rule, size_t row, float lse);
  void Draw(const NextRule& rule, size_t row, float lse);
  float PenaltyOf(const NextRule& rule, int32_t id) const;
  std::span<Candidate> Best(size_t row);
  std::span<Candidate> Special(size_t row);

  Ensemble ensemble_;
  SamplingOptions sampling_;
  float repetition_penalty_;
  std::vector<int32_t> suppressed_;
  // Of a block of rows: the sums of each network's logits, the best so far of
  // each row from number best_begin_[r] on, the logits of pieces wanted or
  // penalised from special_begin_[r] on, and all logits where chance draws.
  std::vector<std::vector<ExpSum>> sums_;
  std::vector<size_t> best_begin_;
  std::vector<Candidate> best_;
  std::vector<size_t> special_begin_;
  std::vector<Candidate> special_;
  std::vector<float> logits_;
  // Of all rows: row r's pieces are [ends_[r], ends_[r + 1]).
  std::vector<NextPiece> pieces_;
  std::vector<size_t> ends_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_NEXT_PIECES_H_
