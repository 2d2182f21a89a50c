#include "lib/search/next_pieces.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/ops/vector_ops.h"
#include "lib/search/sampling.h"

namespace pipeformer {
namespace {

// Rows whose logits are found together: 128 x 256 floats are 128 KB.
constexpr size_t kBlockRows = 128;

}  // namespace

NextPieces::NextPieces(const Ensemble& ensemble, const SearchOptions& options)
    : ensemble_(ensemble),
      sampling_(options.sampling),
      repetition_penalty_(static_cast<float>(options.repetition_penalty)),
      suppressed_(options.suppressed),
      sums_(ensemble.networks.size()) {}

void NextPieces::Find(Context& context, std::span<const Matrix> hidden,
                      std::span<const NextRule> rules) {
  pieces_.clear();
  ends_.assign(1, 0);
  for (size_t first = 0; first < rules.size(); first += kBlockRows) {
    const size_t count = std::min(kBlockRows, rules.size() - first);
    std::vector<Matrix> block;
    for (const Matrix& h : hidden) {
      block.push_back(
          h.Rows(static_cast<int64_t>(first), static_cast<int64_t>(count)));
    }
    FindBlock(context, block, rules.subspan(first, count));
  }
}

// The logits of the first network come part by part; those of the others are
// there as a whole.
void NextPieces::FindBlock(Context& context, std::span<const Matrix> hidden,
                           std::span<const NextRule> rules) {
  const auto mark = context.arena.mark();
  best_begin_.assign(1, 0);
  special_begin_.assign(1, 0);
  special_.clear();
  for (const NextRule& rule : rules) {
    best_begin_.push_back(best_begin_.back() + rule.most);
    for (const auto* ids : {&rule.wanted, &rule.penalized}) {
      for (const int32_t id : *ids) special_.push_back({0, id});
    }
    special_begin_.push_back(special_.size());
  }
  best_.assign(best_begin_.back(), kNoCandidate);
  for (auto& sums : sums_) sums.assign(rules.size(), {});
  std::vector<Matrix> others;
  for (size_t n = 1; n < hidden.size(); ++n) {
    const Matrix scaled = context.arena.NewMatrix(
        hidden[n].rows, ensemble_.config().target_vocab);
    others.push_back(scaled);
    ensemble_.networks[n]->ForEachLogitPart(
        context, hidden[n], [&](int64_t first, Matrix logits) {
          AddExps(logits, sums_[n]);
          SetScaled(logits, ensemble_.weights[n],
                    scaled.Columns(first, logits.cols));
        });
  }
  ensemble_.networks[0]->ForEachLogitPart(
      context, hidden[0], [&](int64_t first, Matrix logits) {
        AddExps(logits, sums_[0]);
        if (ensemble_.weights[0] != 1) {
          SetScaled(logits, ensemble_.weights[0], logits);
        }
        for (const Matrix& other : others) {
          AddTo(other.Columns(first, logits.cols), logits);
        }
        SeePart(first, logits, rules);
      });
  context.arena.Rewind(mark);
  for (size_t r = 0; r < rules.size(); ++r) Keep(rules[r], r);
}

// Lets the logits of the pieces from `first` on join the best of their rows.
void NextPieces::SeePart(int64_t first, Matrix logits,
                         std::span<const NextRule> rules) {
  const auto vocab = static_cast<size_t>(ensemble_.config().target_vocab);
  if (sampling_.active()) logits_.resize(rules.size() * vocab);
  for (size_t r = 0; r < rules.size(); ++r) {
    const NextRule& rule = rules[r];
    const auto best = Best(r);
    float* part = logits.Row(static_cast<int64_t>(r));
    const auto place_of = [&](int32_t id) {
      const int64_t place = id - first;
      return place >= 0 && place < logits.cols ? part + place : nullptr;
    };
    if (rule.only >= 0) {
      const float* logit = place_of(rule.only);
      if (logit != nullptr) best[0] = {*logit, rule.only};
      continue;
    }
    const auto hide = [&](int32_t id) {
      float* logit = place_of(id);
      if (logit != nullptr) *logit = -std::numeric_limits<float>::infinity();
    };
    for (Candidate& c : Special(r)) {
      const float* logit = place_of(c.id);
      if (logit != nullptr) c.logit = *logit;
    }
    if (rule.wanted_only) continue;
    std::ranges::for_each(suppressed_, hide);
    std::ranges::for_each(rule.hidden, hide);
    if (!sampling_.active()) std::ranges::for_each(rule.penalized, hide);
    if (sampling_.active()) {
      std::copy_n(part, logits.cols,
                  logits_.data() + r * vocab + static_cast<size_t>(first));
    } else {
      SelectBest(part, logits.cols, static_cast<int32_t>(first), best);
    }
  }
}

std::span<Candidate> NextPieces::Best(size_t row) {
  return std::span(best_).subspan(best_begin_[row],
                                  best_begin_[row + 1] - best_begin_[row]);
}

std::span<Candidate> NextPieces::Special(size_t row) {
  return std::span(special_).subspan(
      special_begin_[row], special_begin_[row + 1] - special_begin_[row]);
}

// What the logarithm of a piece's probability is multiplied by.
float NextPieces::PenaltyOf(const NextRule& rule, int32_t id) const {
  return std::ranges::binary_search(rule.penalized, id) ? repetition_penalty_
                                                        : 1;
}

// Keeps what was found for row `row` of a block.
void NextPieces::Keep(const NextRule& rule, size_t row) {
  float lse = 0;
  for (size_t n = 0; n < sums_.size(); ++n) {
    lse += ensemble_.weights[n] * sums_[n][row].log_sum();
  }
  if (rule.only < 0 && sampling_.active()) {
    Draw(rule, row, lse);
  } else {
    KeepBest(rule, row, lse);
  }
  ends_.push_back(pieces_.size());
}

void NextPieces::KeepBest(const NextRule& rule, size_t row, float lse) {
  const size_t first = pieces_.size();
  for (const Candidate& c : Best(row)) {
    if (c.id < 0) break;
    pieces_.push_back({c.id, c.logit - lse, c.logit - lse});
  }
  if (rule.only >= 0 || Special(row).empty()) return;
  const auto own = [&] { return std::span(pieces_).subspan(first); };
  const auto add = [&](const Candidate& c) {
    const float log_prob = c.logit - lse;
    pieces_.push_back({c.id, log_prob, log_prob * PenaltyOf(rule, c.id)});
  };
  const auto wanted = Special(row).first(rule.wanted.size());
  for (const Candidate& c : Special(row).subspan(rule.wanted.size())) {
    if (!rule.wanted_only && std::ranges::count(rule.hidden, c.id) == 0 &&
        std::ranges::count(suppressed_, c.id) == 0) {
      add(c);
    }
  }
  // Among equals the lower id wins, as among those that are not penalised.
  std::ranges::sort(own(), [](const NextPiece& a, const NextPiece& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.id < b.id;
  });
  pieces_.resize(first + std::min(rule.most, own().size()));
  for (const Candidate& c : wanted) {
    if (std::ranges::count(own(), c.id, &NextPiece::id) == 0) add(c);
  }
}

void NextPieces::Draw(const NextRule& rule, size_t row, float lse) {
  const auto vocab = static_cast<size_t>(ensemble_.config().target_vocab);
  const auto logits = std::span(logits_).subspan(row * vocab, vocab);
  for (const Candidate& c : Special(row)) {
    float& logit = logits[static_cast<size_t>(c.id)];
    if (std::isfinite(logit)) {
      logit = lse + (c.logit - lse) * PenaltyOf(rule, c.id);
    }
  }
  const int32_t id = SamplePiece(logits, sampling_, rule.chance);
  if (id < 0) return;
  float logit = logits[static_cast<size_t>(id)];
  for (const Candidate& c : Special(row)) {
    if (c.id == id) logit = c.logit;
  }
  pieces_.push_back({id, logit - lse, logit - lse});
}

}  // namespace pipeformer
