#include "lib/search/beam.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lib/base/random.h"
#include "lib/search/repetition.h"

namespace pipeformer {

// A continuation of a live hypothesis.
struct Beam::Continuation {
  double rank;          // of the whole hypothesis
  NextPiece next;       // the new piece
  int32_t parent;       // number of the live hypothesis
  int64_t num_met = 0;  // pieces of the constraints
};

double NormalizedScore(double log_prob, int64_t length, double alpha) {
  if (alpha == 0) return log_prob;
  return log_prob / std::pow(static_cast<double>(length), alpha);
}

Beam::Beam(SearchRequest request, const SearchOptions& options, int64_t limit)
    : request_(std::move(request)), options_(options), limit_(limit) {}

void Beam::Begin(int32_t first_id, int64_t history_rows) {
  first_id_ = first_id;
  LiveHypothesis live;
  live.rows.resize(static_cast<size_t>(history_rows));
  std::iota(live.rows.begin(), live.rows.end(), 0);
  if (options_.coverage_penalty > 0) {
    live.coverage.assign(request_.source.size(), 0);
  }
  const int64_t drawn = options_.sampling.active() ? options_.n_best : 1;
  for (int64_t i = 0; i < drawn; ++i) {
    live.sample = static_cast<uint64_t>(i);
    live_.push_back(live);
  }
}

int32_t Beam::LastPiece(const LiveHypothesis& live) const {
  const auto& ids = live.hypothesis.ids;
  return ids.empty() ? first_id_ : ids.back();
}

int64_t Beam::GiveRows(int64_t history_rows) {
  std::vector<bool> used(static_cast<size_t>(history_rows));
  for (const LiveHypothesis& live : live_) {
    for (const int32_t row : live.rows) used[static_cast<size_t>(row)] = true;
  }
  size_t row = 0;
  for (LiveHypothesis& live : live_) {
    while (row < used.size() && used[row]) ++row;
    live.rows.push_back(static_cast<int32_t>(row++));
  }
  return static_cast<int64_t>(std::max(row, used.size()));
}

NextRule Beam::RuleFor(const LiveHypothesis& live) const {
  NextRule rule;
  const auto& ids = live.hypothesis.ids;
  const auto length = static_cast<int64_t>(ids.size());
  const auto& prefix = request_.prefix;
  if (length < static_cast<int64_t>(prefix.size())) {
    rule.only = prefix[ids.size()];
    return rule;
  }
  if (length >= limit_) {
    rule.only = options_.boundary.eos;
    return rule;
  }
  const Constraints& constraints = request_.constraints;
  rule.wanted = live.constraints.Wanted(constraints);
  rule.wanted_only = live.constraints.MustHurry(constraints, limit_ - length);
  const int64_t least = request_.min_length.value_or(options_.min_length);
  if (length < least || !rule.wanted.empty()) {
    rule.hidden.push_back(options_.boundary.eos);
  }
  const auto said = std::span(ids).subspan(prefix.size());
  ForEachRepeat(said, options_.no_repeat_ngram_size,
                [&](int32_t id) { rule.hidden.push_back(id); });
  if (options_.repetition_penalty != 1) {
    rule.penalized.assign(said.begin(), said.end());
    std::ranges::sort(rule.penalized);
    const auto repeated = std::ranges::unique(rule.penalized);
    rule.penalized.erase(repeated.begin(), repeated.end());
  }
  if (options_.sampling.active()) {
    rule.chance = Random(options_.sampling.seed)
                      .Fork(static_cast<uint64_t>(request_.index))
                      .Fork(live.sample)
                      .Fork(static_cast<uint64_t>(length))
                      .Uniform();
  } else {
    rule.most = RoomIn();
  }
  return rule;
}

// Places of the beam that no ended hypothesis has.
size_t Beam::RoomIn() const {
  const int64_t width =
      options_.sampling.active() ? options_.n_best : options_.beam_size;
  return static_cast<size_t>(width) - ended_.size();
}

// Best first: among equals the earlier hypothesis and the lower id win.
std::vector<Beam::Continuation> Beam::AllContinuations(
    const NextOf& next_of) const {
  std::vector<Continuation> all;
  for (size_t number = 0; number < live_.size(); ++number) {
    for (const NextPiece& next : next_of(number)) {
      all.push_back({live_[number].rank + static_cast<double>(next.rank), next,
                     static_cast<int32_t>(number)});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Continuation::rank);
  return all;
}

// Divides the room among the continuations that have met as many pieces of the
// constraints, those with most first, and in turns, so that none that has met
// few crowds out those that have met more, nor the other way.
std::vector<Beam::Continuation> Beam::SpreadOverBanks(
    std::vector<Continuation> all, size_t room) const {
  const Constraints& constraints = request_.constraints;
  std::vector<std::vector<Continuation>> banks(
      static_cast<size_t>(NumPieces(constraints)) + 1);
  for (Continuation& c : all) {
    ConstraintState state = live_[static_cast<size_t>(c.parent)].constraints;
    if (c.next.id != options_.boundary.eos) {
      state.Advance(constraints, c.next.id);
    }
    c.num_met = state.num_met(constraints);
    banks[static_cast<size_t>(c.num_met)].push_back(c);
  }
  std::vector<Continuation> kept;
  room = std::min(room, all.size());
  for (size_t place = 0; kept.size() < room; ++place) {
    for (size_t b = banks.size(); b-- > 0 && kept.size() < room;) {
      if (place < banks[b].size()) kept.push_back(banks[b][place]);
    }
  }
  std::ranges::stable_sort(kept, std::ranges::greater(), &Continuation::rank);
  return kept;
}

void Beam::Advance(const NextOf& next_of) {
  std::vector<Continuation> all = AllContinuations(next_of);
  const size_t room = RoomIn();
  if (!request_.constraints.empty() && !options_.sampling.active()) {
    all = SpreadOverBanks(std::move(all), room);
  }
  if (all.size() > room) all.resize(room);
  // How many of those that stay continue each one: the last takes its memory.
  std::vector<int32_t> uses(live_.size());
  for (const Continuation& c : all) ++uses[static_cast<size_t>(c.parent)];
  std::vector<LiveHypothesis> live;
  for (const Continuation& c : all) {
    const auto parent = static_cast<size_t>(c.parent);
    LiveHypothesis next =
        --uses[parent] == 0 ? std::move(live_[parent]) : live_[parent];
    next.rank = c.rank;
    next.hypothesis.token_log_probs.push_back(c.next.log_prob);
    next.hypothesis.log_prob += static_cast<double>(c.next.log_prob);
    if (c.next.id == options_.boundary.eos) {
      next.hypothesis.score = FinalScore(next);
      ended_.push_back(std::move(next.hypothesis));
      continue;
    }
    next.hypothesis.ids.push_back(c.next.id);
    next.constraints.Advance(request_.constraints, c.next.id);
    live.push_back(std::move(next));
  }
  live_ = std::move(live);
}

// Of a hypothesis that ends now. Source of the term for coverage: Wu et al.
// 2016, section 7, equation 14.
double Beam::FinalScore(const LiveHypothesis& live) const {
  const auto length = static_cast<int64_t>(live.hypothesis.ids.size()) + 1;
  double score = NormalizedScore(live.rank, length, options_.normalize);
  for (const double seen : live.coverage) {
    score += options_.coverage_penalty * std::log(std::min(seen, 1.0));
  }
  return score;
}

SearchResult Beam::Finish() {
  std::ranges::stable_sort(ended_, std::ranges::greater(), &Hypothesis::score);
  const auto count = static_cast<size_t>(options_.n_best);
  if (ended_.size() > count) ended_.resize(count);
  return {request_.index, std::move(ended_)};
}

}  // namespace pipeformer
