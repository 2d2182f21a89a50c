#include "lib/metrics/translation_edits.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "lib/metrics/edit_alignment.h"

namespace pipeformer {
namespace {

constexpr int kMaxShiftSize = 10;
constexpr int kMaxShiftDistance = 50;
constexpr int kMaxShiftCandidates = 1000;

using Words = std::vector<uint32_t>;

// Moving words [start, start + length) so that they come before word `target`
// (target < start), after it (target > start + length), or, between the two,
// as many places further. Compared as the ranking says.
struct Shift {
  int gain = 0;  // Edits that it saves, itself not counted.
  int length = 0;
  int start = 0;
  int target = 0;

  // The most saved, then longest, then leftmost, then to the leftmost place.
  bool BetterThan(const Shift& other) const {
    return std::make_tuple(gain, length, -start, -target) >
           std::make_tuple(other.gain, other.length, -other.start,
                           -other.target);
  }
};

// Writes `words` with `shift` done to `result`, and returns how many words at
// the front stay in place.
size_t ApplyShift(const Words& words, const Shift& shift, Words* result) {
  *result = words;
  const auto at = [&](int position) {
    return result->begin() +
           std::min<ptrdiff_t>(position, static_cast<ptrdiff_t>(words.size()));
  };
  const int end = shift.start + shift.length;
  if (shift.target < shift.start) {
    std::rotate(at(shift.target), at(shift.start), at(end));
    return shift.target;
  }
  const int stop =
      shift.target > end ? shift.target : shift.length + shift.target;
  std::rotate(at(shift.start), at(end), at(stop));
  return shift.start;
}

// The greedy search for moves in one hypothesis.
class ShiftSearch {
 public:
  ShiftSearch(Words hypothesis, std::span<const uint32_t> reference)
      : words_(std::move(hypothesis)),
        reference_(reference),
        distance_(reference, words_.size()) {}

  int CountEdits() {
    int num_shifts = 0;
    num_edits_ = distance_.SetBase(words_);
    while (true) {
      FindBestShift();
      if (num_candidates_ >= kMaxShiftCandidates) break;
      if (!best_ || best_->gain <= 0) break;
      ++num_shifts;
      ApplyShift(words_, *best_, &shifted_);
      words_ = shifted_;
      num_edits_ = distance_.SetBase(words_);
    }
    return num_shifts + num_edits_;
  }

 private:
  // Tries every group of words that occurs in the reference too.
  void FindBestShift() {
    best_.reset();
    alignment_ = distance_.AlignBase();
    const int num_words = static_cast<int>(words_.size());
    const int num_reference = static_cast<int>(reference_.size());
    for (int start = 0; start < num_words; ++start) {
      const int first = std::max(0, start - kMaxShiftDistance);
      const int last = std::min(num_reference - 1, start + kMaxShiftDistance);
      for (int place = first; place <= last; ++place) {
        const int longest =
            std::min({kMaxShiftSize, num_words - start, num_reference - place});
        for (int n = 0; n < longest; ++n) {
          if (words_[start + n] != reference_[place + n]) break;
          TryGroup(start, place, n + 1);
          if (num_candidates_ >= kMaxShiftCandidates) return;
        }
      }
    }
  }

  // Tries to move the group so that it stands where the alignment puts the
  // reference words before, and in, its counterpart at `place`.
  void TryGroup(int start, int place, int length) {
    const auto& errors = alignment_.hypothesis_errors;
    const auto& reference_errors = alignment_.reference_errors;
    const auto& position = alignment_.hypothesis_position;
    if (errors[start + length] == errors[start]) return;
    if (reference_errors[place + length] == reference_errors[place]) return;
    if (position[place] >= start && position[place] < start + length) return;
    int last_target = -1;
    for (int i = place - 1; i < place + length; ++i) {
      const int target = i < 0 ? 0 : position[i] + 1;
      if (target == last_target) continue;
      last_target = target;
      TryShift({.length = length, .start = start, .target = target});
    }
  }

  void TryShift(Shift shift) {
    const size_t num_same = ApplyShift(words_, shift, &shifted_);
    shift.gain = num_edits_ - distance_.DistanceFrom(shifted_, num_same);
    ++num_candidates_;
    if (!best_ || shift.BetterThan(*best_)) best_ = shift;
  }

  Words words_;
  std::span<const uint32_t> reference_;
  BeamEditDistance distance_;
  EditAlignment alignment_;
  int num_edits_ = 0;
  int num_candidates_ = 0;
  std::optional<Shift> best_;
  Words shifted_;
};

}  // namespace

int CountTranslationEdits(std::vector<uint32_t> hypothesis,
                          std::span<const uint32_t> reference) {
  if (reference.empty()) return static_cast<int>(hypothesis.size());
  return ShiftSearch(std::move(hypothesis), reference).CountEdits();
}

}  // namespace pipeformer
