#include "lib/nn/decoder_cache.h"

namespace pipeformer {

float* BlockPool::Take() {
  if (free_.empty()) return arena_.Array<float>(StepBlockSize(width_));
  float* block = free_.back();
  free_.pop_back();
  return block;
}

BlockRows::~BlockRows() {
  for (float* block : blocks_) pool_->GiveBack(block);
}

void BlockRows::Reserve(int64_t count) {
  const auto blocks = static_cast<size_t>(PaddedKeys(count) / kKeyBlock);
  while (blocks_.size() < blocks) blocks_.push_back(pool_->Take());
}

SentenceCache::SentenceCache(BlockPool& pool, int64_t num_layers) {
  for (int64_t l = 0; l < num_layers; ++l) {
    layers.push_back({BlockRows(pool), BlockRows(pool)});
  }
}

namespace {

void Keep(Matrix key, Matrix value, BlockRows& rows) {
  rows.Reserve(key.rows);
  PutRows(key, value, rows.blocks());
}

}  // namespace

void KeepSource(int layer, Matrix key, Matrix value,
                std::span<const int32_t> offsets,
                std::span<SentenceCache* const> sentences) {
  for (size_t s = 0; s < sentences.size(); ++s) {
    const int64_t first = offsets[s], rows = offsets[s + 1] - first;
    sentences[s]->source_rows = rows;
    Keep(key.Rows(first, rows), value.Rows(first, rows),
         sentences[s]->layers[static_cast<size_t>(layer)].source);
  }
}

void KeepHistory(int layer, Matrix key, Matrix value,
                 std::span<const int32_t> offsets,
                 std::span<SentenceCache* const> sentences) {
  for (size_t s = 0; s < sentences.size(); ++s) {
    const int64_t first = offsets[s], rows = offsets[s + 1] - first;
    Keep(key.Rows(first, rows), value.Rows(first, rows),
         sentences[s]->layers[static_cast<size_t>(layer)].history);
  }
}

DecoderCache::DecoderCache(std::span<SentenceCache* const> sentences,
                           std::span<const HistoryRows> rows)
    : rows_(rows), self_(rows.size()), cross_(rows.size()) {
  for (size_t first = 0; first < rows.size();) {
    SentenceCache* sentence = sentences[first];
    size_t end = first;
    for (; end < rows.size() && sentences[end] == sentence; ++end) {
      const auto count = static_cast<int64_t>(rows[end].size());
      positions_.push_back(static_cast<int32_t>(count) - 1);
      self_[end] = {.num_keys = count, .key_rows = rows[end].data()};
      cross_[end] = {.num_keys = sentence->source_rows};
    }
    const auto query = static_cast<int64_t>(first);
    const size_t count = end - first;
    self_groups_.push_back({.first_query = query,
                            .queries = std::span(self_).subspan(first, count),
                            .num_rows = sentence->history_rows});
    cross_groups_.push_back({.first_query = query,
                             .queries = std::span(cross_).subspan(first, count),
                             .num_rows = sentence->source_rows});
    sentences_.push_back(sentence);
    first = end;
  }
}

std::span<StepGroup> DecoderCache::AppendSelf(int layer, Matrix key,
                                              Matrix value) {
  for (size_t s = 0; s < self_groups_.size(); ++s) {
    StepGroup& g = self_groups_[s];
    BlockRows& history =
        sentences_[s]->layers[static_cast<size_t>(layer)].history;
    history.Reserve(g.num_rows);
    for (size_t i = 0; i < g.queries.size(); ++i) {
      const int64_t query = g.first_query + static_cast<int64_t>(i);
      PutRow(key.Row(query), value.Row(query), key.cols,
             rows_[static_cast<size_t>(query)].back(), history.blocks());
    }
    g.blocks = history.blocks();
  }
  return self_groups_;
}

std::span<StepGroup> DecoderCache::Cross(int layer) {
  for (size_t s = 0; s < cross_groups_.size(); ++s) {
    cross_groups_[s].blocks =
        sentences_[s]->layers[static_cast<size_t>(layer)].source.blocks();
  }
  return cross_groups_;
}

}  // namespace pipeformer
