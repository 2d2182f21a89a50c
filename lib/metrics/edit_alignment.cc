#include "lib/metrics/edit_alignment.h"

#include <algorithm>
#include <cmath>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr int kInfinity = 1'000'000'000;
constexpr size_t kBeamWidth = 25;

// The beam reaches at least from one row's diagonal to the next one's.
size_t BeamWidth(double length_ratio) {
  if (length_ratio / 2 <= kBeamWidth) return kBeamWidth;
  return static_cast<size_t>(std::ceil(length_ratio / 2 + kBeamWidth));
}

}  // namespace

BeamEditDistance::BeamEditDistance(std::span<const uint32_t> reference,
                                   size_t num_words)
    : reference_(reference), num_words_(num_words), rows_(num_words + 1) {
  const size_t width = reference.size() + 1;
  rows_[0] = {0, width, 0};
  size_t num_cells = width;
  if (num_words > 0) {
    const double ratio =
        static_cast<double>(reference.size()) / static_cast<double>(num_words);
    const size_t beam = BeamWidth(ratio);
    for (size_t i = 1; i <= num_words; ++i) {
      const auto diagonal =
          static_cast<size_t>(std::floor(static_cast<double>(i) * ratio));
      rows_[i].begin = diagonal - std::min(diagonal, beam);
      rows_[i].end = i == num_words ? width : std::min(width, diagonal + beam);
      rows_[i].offset = num_cells;
      num_cells += rows_[i].end - rows_[i].begin;
    }
  }
  base_.resize(num_cells);
  current_.resize(num_cells);
  for (size_t j = 0; j < width; ++j) base_[j] = static_cast<int>(j);
}

void BeamEditDistance::FillRow(size_t i, uint32_t word, const int* before,
                               int* cells) const {
  const Row& above = rows_[i - 1];
  const Row& row = rows_[i];
  const auto value_above = [&](size_t j) {
    return j - above.begin < above.end - above.begin
               ? before[above.offset + (j - above.begin)]
               : kInfinity;
  };
  int* cell = cells + row.offset;
  int left = kInfinity;
  int above_left = row.begin > 0 ? value_above(row.begin - 1) : kInfinity;
  for (size_t j = row.begin; j < row.end; ++j) {
    const int straight_above = value_above(j);
    int best = std::min(straight_above + 1, left + 1);
    if (j > 0) {
      best = std::min(best, above_left + (word == reference_[j - 1] ? 0 : 1));
    }
    left = std::min(best, kInfinity);
    above_left = straight_above;
    *cell++ = left;
  }
}

int BeamEditDistance::SetBase(std::span<const uint32_t> hypothesis) {
  Check(hypothesis.size() == num_words_, "all re-orderings have one length");
  for (size_t i = 1; i <= num_words_; ++i) {
    FillRow(i, hypothesis[i - 1], base_.data(), base_.data());
  }
  base_words_.assign(hypothesis.begin(), hypothesis.end());
  return base_.back();
}

int BeamEditDistance::DistanceFrom(std::span<const uint32_t> hypothesis,
                                   size_t num_same) {
  Check(hypothesis.size() == num_words_, "all re-orderings have one length");
  if (num_same == num_words_) return base_.back();
  FillRow(num_same + 1, hypothesis[num_same], base_.data(), current_.data());
  for (size_t i = num_same + 2; i <= num_words_; ++i) {
    FillRow(i, hypothesis[i - 1], current_.data(), current_.data());
  }
  return current_.back();
}

int BeamEditDistance::BaseCell(size_t i, size_t j) const {
  const Row& row = rows_[i];
  if (j < row.begin || j >= row.end) return kInfinity;
  return base_[row.offset + (j - row.begin)];
}

EditAlignment BeamEditDistance::AlignBase() const {
  EditAlignment alignment;
  alignment.hypothesis_position.resize(reference_.size());
  alignment.hypothesis_errors.assign(num_words_ + 1, 0);
  alignment.reference_errors.assign(reference_.size() + 1, 0);
  size_t i = num_words_;
  size_t j = reference_.size();
  while (i > 0 || j > 0) {
    const int cell = BaseCell(i, j);
    const bool both = i > 0 && j > 0;
    const int cost = both && base_words_[i - 1] == reference_[j - 1] ? 0 : 1;
    const bool paired = both && BaseCell(i - 1, j - 1) + cost == cell;
    const bool extra =
        !paired && i > 0 && (j == 0 || BaseCell(i - 1, j) + 1 == cell);
    if (extra) {
      alignment.hypothesis_errors[i--] = 1;
      continue;
    }
    alignment.hypothesis_position[j - 1] = static_cast<int>(i) - 1;
    alignment.reference_errors[j--] = paired ? cost : 1;
    if (paired) alignment.hypothesis_errors[i--] = cost;
  }
  for (auto* errors :
       {&alignment.hypothesis_errors, &alignment.reference_errors}) {
    for (size_t k = 1; k < errors->size(); ++k)
      (*errors)[k] += (*errors)[k - 1];
  }
  return alignment;
}

}  // namespace pipeformer
