// One sentence in a search: its hypotheses, what may follow them, and which of
// their continuations stay.
#ifndef PIPEFORMER_LIB_SEARCH_BEAM_H_
#define PIPEFORMER_LIB_SEARCH_BEAM_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lib/search/constraints.h"
#include "lib/search/hypothesis.h"
#include "lib/search/next_pieces.h"

namespace pipeformer {

// A hypothesis that has not ended.
struct LiveHypothesis {
  Hypothesis hypothesis;
  // Its log-probability after the penalty for repetition, by which it competes.
  double rank = 0;
  std::vector<int32_t> rows;  // history rows of its positions (DecoderCache)
  uint64_t sample = 0;        // tells drawn hypotheses apart
  ConstraintState constraints = {};
  // The attention to each source piece, summed over the steps, where the search
  // has a penalty for coverage.
  std::vector<double> coverage = {};
};

class Beam {
 public:
  // `limit`: most pieces of a result, without the end symbol. Requires: the
  // options outlive this.
  Beam(SearchRequest request, const SearchOptions& options, int64_t limit);

  // Begins with hypotheses that hold nothing: the first step is given the piece
  // `first_id`, after `history_rows` rows that are there already.
  void Begin(int32_t first_id, int64_t history_rows);

  const SearchRequest& request() const { return request_; }
  std::span<LiveHypothesis> live() { return live_; }
  bool done() const { return live_.empty(); }

  // The piece that the next step is given.
  int32_t LastPiece(const LiveHypothesis& live) const;

  // Gives every live hypothesis a history row for its new position: the first
  // rows that no position of a live one has. Takes and returns the end of all
  // rows.
  int64_t GiveRows(int64_t history_rows);

  // What may follow, whatever the networks say.
  NextRule RuleFor(const LiveHypothesis& live) const;

  // Of all continuations those that end and are among the best beam_size are
  // results; the best beam_size of the others go on, until none of them can
  // become one of the n_best results any more. A beam of one is over when its
  // best continuation ends. `next_of(number)` are the pieces that may follow
  // live hypothesis `number`.
  using NextOf = std::function<std::span<const NextPiece>(size_t number)>;
  void Advance(const NextOf& next_of);

  // All hypotheses, best first. Requires: done.
  SearchResult Finish();

 private:
  struct Continuation;

  std::vector<Continuation> AllContinuations(const NextOf& next_of) const;
  std::vector<Continuation> Best(std::span<const Continuation> all,
                                 size_t room) const;
  bool Ends(const Continuation& c) const;
  void End(const Continuation& c);
  void GoOn(const std::vector<Continuation>& staying);
  void LeaveHopeless();

  SearchRequest request_;
  const SearchOptions& options_;
  int64_t limit_;
  int32_t first_id_ = 0;
  std::vector<LiveHypothesis> live_;
  std::vector<Hypothesis> ended_;  // at most n_best, best first
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_SEARCH_BEAM_H_
