// What decoding remembers: keys and values of the source, once for each
// sentence, and of every hypothesis' earlier positions. Hypotheses share rows;
// when a beam is reordered only row numbers move.
#ifndef PIPEFORMER_LIB_NN_DECODER_CACHE_H_
#define PIPEFORMER_LIB_NN_DECODER_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/ops/attention_step.h"
#include "lib/tensor/arena.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// Blocks of keys and values (see StepGroup) for the sentences of one thread.
// What is given back serves again; memory is freed with the pool.
class BlockPool {
 public:
  explicit BlockPool(int64_t width) : width_(width) {}

  float* Take();
  void GiveBack(float* block) { free_.push_back(block); }
  int64_t width() const { return width_; }

 private:
  int64_t width_;
  Arena arena_;
  std::vector<float*> free_;
};

// Rows of keys and values that grow block by block.
class BlockRows {
 public:
  explicit BlockRows(BlockPool& pool) : pool_(&pool) {}
  BlockRows(BlockRows&& other) = default;
  ~BlockRows();

  // Makes room for rows [0, count).
  void Reserve(int64_t count);
  float* const* blocks() const { return blocks_.data(); }

 private:
  BlockPool* pool_;
  std::vector<float*> blocks_;
};

// One sentence being decoded; its layers are those of the decoder.
struct SentenceCache {
  struct Layer {
    BlockRows source, history;
  };

  // Requires: the pool outlives this.
  SentenceCache(BlockPool& pool, int64_t num_layers);

  std::vector<Layer> layers;
  int64_t source_rows = 0;
  int64_t history_rows = 0;  // all rows in use are before this one
};

// Stores the keys and values [rows, width] of whole sentences, divided by
// `offsets`, for one layer of `sentences`: as their sources, or as their first
// history rows.
void KeepSource(int layer, Matrix key, Matrix value,
                std::span<const int32_t> offsets,
                std::span<SentenceCache* const> sentences);
void KeepHistory(int layer, Matrix key, Matrix value,
                 std::span<const int32_t> offsets,
                 std::span<SentenceCache* const> sentences);

// The history rows of a hypothesis' positions so far, the new one last.
using HistoryRows = std::span<const int32_t>;

// One step over many hypotheses. Those of one sentence stand together.
class DecoderCache {
 public:
  // `sentences` and `rows` are of each hypothesis. Requires: the rows outlive
  // the step.
  DecoderCache(std::span<SentenceCache* const> sentences,
               std::span<const HistoryRows> rows);

  // Stores the new keys and values [hypotheses, d_model] of a layer and
  // returns what the hypotheses of each sentence attend to. It is good until
  // the next call.
  std::span<StepGroup> AppendSelf(int layer, Matrix key, Matrix value);

  // The source of each sentence, the same way.
  std::span<StepGroup> Cross(int layer);

  // The position of each hypothesis' newest row.
  std::span<const int32_t> positions() const { return positions_; }

 private:
  std::span<const HistoryRows> rows_;
  std::vector<SentenceCache*> sentences_;  // of each group
  std::vector<StepQuery> self_, cross_;    // of each hypothesis
  std::vector<StepGroup> self_groups_, cross_groups_;
  std::vector<int32_t> positions_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_DECODER_CACHE_H_
