#include "lib/search/next_pieces.h"

#include <algorithm>
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
  for (const NextRule& rule : rules) {
    best_begin_.push_back(best_begin_.back() + rule.most);
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
    const auto best = std::span(best_).subspan(best_begin_[r], rule.most);
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
    std::ranges::for_each(suppressed_, hide);
    std::ranges::for_each(rule.hidden, hide);
    if (sampling_.active()) {
      std::copy_n(part, logits.cols,
                  logits_.data() + r * vocab + static_cast<size_t>(first));
    } else {
      SelectBest(part, logits.cols, static_cast<int32_t>(first), best);
    }
  }
}

// Keeps what was found for row `row` of a block.
void NextPieces::Keep(const NextRule& rule, size_t row) {
  const auto best = std::span(best_).subspan(best_begin_[row], rule.most);
  if (rule.only < 0 && sampling_.active()) {
    const auto vocab = static_cast<size_t>(ensemble_.config().target_vocab);
    const auto logits =
        std::span<const float>(logits_).subspan(row * vocab, vocab);
    const int32_t id = SamplePiece(logits, sampling_, rule.chance);
    if (id >= 0) best[0] = {logits[static_cast<size_t>(id)], id};
  }
  float lse = 0;
  for (size_t n = 0; n < sums_.size(); ++n) {
    lse += ensemble_.weights[n] * sums_[n][row].log_sum();
  }
  for (const Candidate& c : best) {
    if (c.id < 0) break;
    pieces_.push_back({c.id, c.logit - lse});
  }
  ends_.push_back(pieces_.size());
}

}  // namespace pipeformer
