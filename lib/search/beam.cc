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
  double rank;     // of the whole hypothesis
  NextPiece next;  // the new piece
  int32_t parent;  // number of the live hypothesis
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
    // Of a wide beam as many go on as it is wide, beside what ends.
    rule.most = static_cast<size_t>(options_.beam_size) +
                (options_.beam_size > 1 ? 1 : 0);
  }
  return rule;
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

// The first `room` of them; where there are constraints, those of each number
// of pieces met in turns, those with most first, so that none that has met few
// crowds out those that have met more, nor the other way.
std::vector<Beam::Continuation> Beam::Best(std::span<const Continuation> all,
                                           size_t room) const {
  room = std::min(room, all.size());
  const Constraints& constraints = request_.constraints;
  if (constraints.empty()) return {all.begin(), all.begin() + room};
  std::vector<std::vector<Continuation>> banks(
      static_cast<size_t>(NumPieces(constraints)) + 1);
  for (const Continuation& c : all) {
    ConstraintState state = live_[static_cast<size_t>(c.parent)].constraints;
    if (!Ends(c)) state.Advance(constraints, c.next.id);
    banks[static_cast<size_t>(state.num_met(constraints))].push_back(c);
  }
  std::vector<Continuation> kept;
  for (size_t place = 0; kept.size() < room; ++place) {
    for (size_t b = banks.size(); b-- > 0 && kept.size() < room;) {
      if (place < banks[b].size()) kept.push_back(banks[b][place]);
    }
  }
  std::ranges::stable_sort(kept, std::ranges::greater(), &Continuation::rank);
  return kept;
}

bool Beam::Ends(const Continuation& c) const {
  return c.next.id == options_.boundary.eos;
}

void Beam::Advance(const NextOf& next_of) {
  std::vector<Continuation> all = AllContinuations(next_of);
  const size_t width = options_.sampling.active()
                           ? live_.size()
                           : static_cast<size_t>(options_.beam_size);
  for (const Continuation& c : Best(all, width)) {
    if (Ends(c)) End(c);
  }
  const bool greedy = width == 1 && !options_.sampling.active();
  if (greedy && !ended_.empty()) {
    live_.clear();
    return;
  }
  std::erase_if(all, [&](const Continuation& c) { return Ends(c); });
  GoOn(Best(all, width));
  if (!options_.sampling.active()) LeaveHopeless();
}

// Puts a hypothesis among those that ended, after its equals.
void Beam::End(const Continuation& c) {
  const LiveHypothesis& parent = live_[static_cast<size_t>(c.parent)];
  Hypothesis h = parent.hypothesis;
  h.token_log_probs.push_back(c.next.log_prob);
  h.log_prob += static_cast<double>(c.next.log_prob);
  h.score = NormalizedScore(c.rank, static_cast<int64_t>(h.ids.size()) + 1,
                            options_.normalize);
  // Source: Wu et al. 2016, section 7, equation 14.
  for (const double seen : parent.coverage) {
    h.score += options_.coverage_penalty * std::log(std::min(seen, 1.0));
  }
  ended_.insert(
      std::ranges::upper_bound(ended_, h.score, std::ranges::greater(),
                               &Hypothesis::score),
      std::move(h));
  if (ended_.size() > static_cast<size_t>(options_.n_best)) ended_.pop_back();
}

void Beam::GoOn(const std::vector<Continuation>& staying) {
  // How many continue each hypothesis: the last takes its memory.
  std::vector<int32_t> uses(live_.size());
  for (const Continuation& c : staying) ++uses[static_cast<size_t>(c.parent)];
  std::vector<LiveHypothesis> live;
  for (const Continuation& c : staying) {
    const auto parent = static_cast<size_t>(c.parent);
    live.push_back(--uses[parent] == 0 ? std::move(live_[parent])
                                       : live_[parent]);
    LiveHypothesis& next = live.back();
    next.rank = c.rank;
    next.hypothesis.ids.push_back(c.next.id);
    next.hypothesis.token_log_probs.push_back(c.next.log_prob);
    next.hypothesis.log_prob += static_cast<double>(c.next.log_prob);
    next.constraints.Advance(request_.constraints, c.next.id);
  }
  live_ = std::move(live);
}

// Gives up the hypotheses that can no longer be among those that are asked
// for. Ranks only fall, so none ends with a score above that of its rank at the
// greatest length; and what such a one keeps from the beam ranks behind it,
// unless constraints divide the beam: then all are given up or none.
void Beam::LeaveHopeless() {
  if (ended_.size() < static_cast<size_t>(options_.n_best)) return;
  const double worst = ended_.back().score;
  const auto is_hopeless = [&](const LiveHypothesis& live) {
    return worst >= (live.rank > 0 ? live.rank
                                   : NormalizedScore(live.rank, limit_ + 1,
                                                     options_.normalize));
  };
  if (request_.constraints.empty() || std::ranges::all_of(live_, is_hopeless)) {
    std::erase_if(live_, is_hopeless);
  }
}

SearchResult Beam::Finish() { return {request_.index, std::move(ended_)}; }

}  // namespace pipeformer
