#include "lib/nn/pair_batch.h"

namespace pipeformer {

int64_t PromptRows(const TransformerConfig& config, int64_t source_pieces) {
  if (!config.is_language_model()) return 1;
  return 1 + source_pieces + (config.trained_on == TrainedOn::kPairs ? 1 : 0);
}

int64_t NumTargets(const TransformerConfig& config, Predict predict,
                   int64_t source_pieces, int64_t target_pieces) {
  const bool both = predict == Predict::kBoth;
  return target_pieces + (both ? PromptRows(config, source_pieces) : 1);
}

int64_t MaxSidePieces(const TransformerConfig& config) {
  const int64_t room = config.max_positions - PromptRows(config, 0);
  const bool together =
      config.is_language_model() && config.trained_on == TrainedOn::kPairs;
  return together ? room / 2 : room;
}

void PairBatch::Clear() {
  source_.Clear();
  sequence_.Clear();
  targets_.Clear();
  rows_.clear();
  weights_.clear();
  links_.clear();
  link_offsets_.assign(1, 0);
}

void PairBatch::Weigh(float weight) {
  weights_.resize(targets_.ids.size(), weight);
}

void PairBatch::Align(std::span<const Link> links) {
  links_.insert(links_.end(), links.begin(), links.end());
  link_offsets_.push_back(links_.size());
}

std::span<const Link> PairBatch::LinksOf(int64_t s) const {
  const auto at = static_cast<size_t>(s);
  return std::span(links_).subspan(link_offsets_[at],
                                   link_offsets_[at + 1] - link_offsets_[at]);
}

void PairBatch::Append(std::span<const int32_t> source,
                       std::span<const int32_t> target) {
  std::vector<int32_t>& ids = sequence_.ids;
  const size_t first = ids.size();
  ids.push_back(boundary_.bos);
  if (config_.is_language_model()) {
    ids.insert(ids.end(), source.begin(), source.end());
    if (config_.trained_on == TrainedOn::kPairs) {
      ids.push_back(boundary_.source_eos);
    }
  } else {
    source_.Append(-1, source, boundary_.source_eos);
  }
  ids.insert(ids.end(), target.begin(), target.end());
  sequence_.offsets.push_back(static_cast<int32_t>(ids.size()));

  const auto predicted = static_cast<size_t>(
      NumTargets(config_, predict_, static_cast<int64_t>(source.size()),
                 static_cast<int64_t>(target.size())));
  for (size_t row = ids.size() - predicted; row < ids.size(); ++row) {
    rows_.push_back(static_cast<int32_t>(row));
  }
  const auto later = std::span(ids).subspan(first).last(predicted - 1);
  targets_.Append(-1, later, boundary_.eos);
}

}  // namespace pipeformer
