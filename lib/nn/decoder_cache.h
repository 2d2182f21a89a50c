// What decoding remembers: keys and values of the source, once for each
// sentence, and of every hypothesis' earlier positions. Hypotheses share rows;
// when a beam is reordered only row numbers move.
#ifndef PIPEFORMER_LIB_NN_DECODER_CACHE_H_
#define PIPEFORMER_LIB_NN_DECODER_CACHE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/ops/attention.h"
#include "lib/tensor/arena.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// A vector of floats aligned to 64 bytes that keeps its memory when cleared.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  // Makes room for `count` floats; of those there were, the first `keep` stay
  // what they were.
  float* Reserve(int64_t count, int64_t keep);
  float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  int64_t capacity_ = 0;
};

// One sentence being decoded; its layers are those of the decoder.
struct SentenceCache {
  struct Layer {
    AlignedBuffer packed_keys;    // of the source, see PackKeys
    AlignedBuffer source_values;  // [source rows, d_model]
    AlignedBuffer history;        // [rows, 2 d_model]: key, value
  };

  explicit SentenceCache(int64_t num_layers)
      : layers(static_cast<size_t>(num_layers)) {}

  std::vector<Layer> layers;
  int64_t source_rows = 0;
  int64_t history_rows = 0;  // rows given out so far
};

// Stores the keys and values [rows, width] of whole sentences, divided by
// `offsets`, as the first history rows of `sentences`, for one layer.
void KeepHistory(int layer, Matrix key, Matrix value,
                 std::span<const int32_t> offsets,
                 std::span<SentenceCache* const> sentences);

// One row of a decoding step: a hypothesis of a sentence. `rows` are the
// history rows of its positions so far, the new one last.
struct HypothesisRows {
  SentenceCache* sentence;
  std::span<const int32_t> rows;
};

// One step over many hypotheses. Those of one sentence stand together.
class DecoderCache {
 public:
  // Requires: the spans outlive the step.
  DecoderCache(std::span<const HypothesisRows> hypotheses, int64_t d_model)
      : hypotheses_(hypotheses), d_model_(d_model) {}

  // Stores the new keys and values [hypotheses, d_model] of a layer and
  // returns what each hypothesis attends to, on `arena`.
  std::span<AttentionGroup> AppendSelf(int layer, Matrix key, Matrix value,
                                       Arena& arena);

  // The source of each sentence, one group for all its hypotheses.
  std::span<AttentionGroup> Cross(int layer, Arena& arena) const;

  // The position of each hypothesis' newest row, on `arena`.
  std::span<const int32_t> Positions(Arena& arena) const;

  int64_t history_stride() const { return 2 * d_model_; }

 private:
  std::span<const HypothesisRows> hypotheses_;
  int64_t d_model_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_DECODER_CACHE_H_
