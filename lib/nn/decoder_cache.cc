#include "lib/nn/decoder_cache.h"

#include <algorithm>
#include <new>

namespace pipeformer {

AlignedBuffer::~AlignedBuffer() {
  ::operator delete (data_, std::align_val_t{64});
}

float* AlignedBuffer::Reserve(int64_t count, int64_t keep) {
  if (count <= capacity_) return data_;
  keep = std::min(keep, capacity_);
  capacity_ = std::max(count, 2 * capacity_);
  auto* grown = static_cast<float*>(::operator new (
      static_cast<size_t>(capacity_) * sizeof(float), std::align_val_t{64}));
  std::copy_n(data_, keep, grown);
  ::operator delete (data_, std::align_val_t{64});
  data_ = grown;
  return data_;
}

void KeepHistory(int layer, Matrix key, Matrix value,
                 std::span<const int32_t> offsets,
                 std::span<SentenceCache* const> sentences) {
  const int64_t width = key.cols;
  for (size_t s = 0; s < sentences.size(); ++s) {
    const int64_t first = offsets[s];
    const int64_t rows = offsets[s + 1] - first;
    float* to =
        sentences[s]->layers[static_cast<size_t>(layer)].history.Reserve(
            rows * 2 * width, 0);
    for (int64_t r = 0; r < rows; ++r, to += 2 * width) {
      std::copy_n(key.Row(first + r), width, to);
      std::copy_n(value.Row(first + r), width, to + width);
    }
  }
}

std::span<const int32_t> DecoderCache::Positions(Arena& arena) const {
  auto* position =
      arena.Array<int32_t>(static_cast<int64_t>(hypotheses_.size()));
  for (size_t r = 0; r < hypotheses_.size(); ++r) {
    position[r] = static_cast<int32_t>(hypotheses_[r].rows.size()) - 1;
  }
  return {position, hypotheses_.size()};
}

std::span<AttentionGroup> DecoderCache::AppendSelf(int layer, Matrix key,
                                                   Matrix value, Arena& arena) {
  const auto count = static_cast<int64_t>(hypotheses_.size());
  AttentionGroup* groups = arena.Array<AttentionGroup>(count);
  const int64_t stride = history_stride();
  // All rows are stored before any address is taken: storing may move them.
  for (int64_t r = 0; r < count; ++r) {
    const HypothesisRows& h = hypotheses_[static_cast<size_t>(r)];
    AlignedBuffer& history =
        h.sentence->layers[static_cast<size_t>(layer)].history;
    const int64_t row = h.rows.back();
    float* to =
        history.Reserve((row + 1) * stride, row * stride) + row * stride;
    std::copy_n(key.Row(r), d_model_, to);
    std::copy_n(value.Row(r), d_model_, to + d_model_);
  }
  for (int64_t r = 0; r < count; ++r) {
    const HypothesisRows& h = hypotheses_[static_cast<size_t>(r)];
    const float* history =
        h.sentence->layers[static_cast<size_t>(layer)].history.data();
    groups[r] = {.first_query = r,
                 .num_queries = 1,
                 .num_keys = static_cast<int64_t>(h.rows.size()),
                 .keys = history,
                 .values = history + d_model_,
                 .key_rows = h.rows.data()};
  }
  return {groups, static_cast<size_t>(count)};
}

std::span<AttentionGroup> DecoderCache::Cross(int layer, Arena& arena) const {
  const auto count = static_cast<int64_t>(hypotheses_.size());
  AttentionGroup* groups = arena.Array<AttentionGroup>(count);
  size_t num_groups = 0;
  for (int64_t r = 0; r < count;) {
    const SentenceCache* sentence =
        hypotheses_[static_cast<size_t>(r)].sentence;
    int64_t end = r + 1;
    while (end < count &&
           hypotheses_[static_cast<size_t>(end)].sentence == sentence) {
      ++end;
    }
    const auto& l = sentence->layers[static_cast<size_t>(layer)];
    groups[num_groups++] = {.first_query = r,
                            .num_queries = end - r,
                            .num_keys = sentence->source_rows,
                            .values = l.source_values.data(),
                            .packed_keys = l.packed_keys.data()};
    r = end;
  }
  return {groups, num_groups};
}

}  // namespace pipeformer
