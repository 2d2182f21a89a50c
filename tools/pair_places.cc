#include "tools/pair_places.h"

#include <algorithm>

#include "lib/base/error.h"

namespace pipeformer {

void PairPlaces::BeginFile(const std::string& name, Numbering numbering) {
  files_.push_back({name, numbering});
}

void PairPlaces::Add(int64_t number) {
  Check(!files_.empty(), "a pair of no file");
  const size_t file = files_.size() - 1;
  const auto follows = [&](const Run& run) {
    return run.file == file && number - run.number == num_pairs_ - run.pair;
  };
  if (runs_.empty() || !follows(runs_.back())) {
    runs_.push_back({num_pairs_, number, file});
  }
  ++num_pairs_;
}

std::string PairPlaces::At(int64_t pair) const {
  Check(pair >= 0 && pair < num_pairs_, "the place of no pair");
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), pair,
      [](int64_t wanted, const Run& run) { return wanted < run.pair; });
  const Run& run = *(after - 1);
  const File& file = files_[run.file];
  return file.name + (file.numbering == Numbering::kLines ? ":" : ": record ") +
         std::to_string(run.number + pair - run.pair);
}

std::string PairPlaces::List(std::span<const int64_t> pairs) const {
  constexpr size_t kListed = 8;
  std::vector<int64_t> ordered(pairs.begin(), pairs.end());
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (size_t i = 0; i < std::min(kListed, ordered.size()); ++i) {
    text += (i == 0 ? "" : ", ") + At(ordered[i]);
  }
  if (ordered.size() > kListed) {
    text += " and " + std::to_string(ordered.size() - kListed) + " more";
  }
  return text;
}

}  // namespace pipeformer
