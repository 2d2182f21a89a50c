#include "lib/nn/pair_batch.h"

namespace pipeformer {

void PairBatch::Clear() {
  source_.Clear();
  sequence_.Clear();
  targets_.Clear();
  rows_.clear();
}

int64_t PairBatch::PromptRows(int64_t source_pieces) const {
  return is_language_model_ ? 1 + source_pieces + (ends_prompt_ ? 1 : 0) : 1;
}

int64_t PairBatch::NumTargets(int64_t source_pieces,
                              int64_t target_pieces) const {
  const bool both = predict_ == Predict::kBoth;
  return target_pieces + (both ? PromptRows(source_pieces) : 1);
}

void PairBatch::Append(std::span<const int32_t> source,
                       std::span<const int32_t> target) {
  std::vector<int32_t> sequence = {boundary_.bos};
  if (is_language_model_) {
    sequence.insert(sequence.end(), source.begin(), source.end());
    if (ends_prompt_) sequence.push_back(boundary_.source_eos);
  } else {
    source_.Append(-1, source, boundary_.source_eos);
  }
  sequence.insert(sequence.end(), target.begin(), target.end());

  const auto first_row = static_cast<int32_t>(sequence_.ids.size());
  const auto length = static_cast<int64_t>(sequence.size());
  const int64_t predicted = NumTargets(static_cast<int64_t>(source.size()),
                                       static_cast<int64_t>(target.size()));
  sequence_.Append(-1, sequence, -1);
  sequence.push_back(boundary_.eos);
  targets_.Append(-1, std::span(sequence).last(static_cast<size_t>(predicted)),
                  -1);
  for (int64_t r = length - predicted; r < length; ++r) {
    rows_.push_back(first_row + static_cast<int32_t>(r));
  }
}

}  // namespace pipeformer
