// The masks of a padded batch, as PyTorch gives them, as the masks of its
// sentences (SentenceMask): masks for all, for each head and for padding add
// up, and their gradients go back the same way.
#ifndef PIPEFORMER_LIB_NN_PADDED_MASKS_H_
#define PIPEFORMER_LIB_NN_PADDED_MASKS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/nn/attention.h"

namespace pipeformer {

// Where a mask holds the number for a sentence, head, query and key, in
// floats; consecutive keys are 1 apart, and 0 means one number for all.
struct MaskStrides {
  int64_t sentence = 0;
  int64_t head = 0;
  int64_t query = 0;
};

class PaddedMasks {
 public:
  // Of one attention: every sentence has as many queries and keys.
  struct Shape {
    int64_t sentences = 0;
    int64_t heads = 1;  // 1: no mask differs between heads
    int64_t queries = 0;
    int64_t keys = 0;
    int64_t extra_keys = 0;  // AttentionConfig::extra_keys: open to all
  };

  // Every query sees every key.
  explicit PaddedMasks(const Shape& shape);
  PaddedMasks(PaddedMasks&&) = default;

  // Adds a mask: minus infinity hides a key.
  void Add(std::span<const float> mask, MaskStrides strides);

  // Hides the keys after a query's own place, counted from the first of each:
  // torch.nn.Transformer.generate_square_subsequent_mask.
  void AddCausal();

  // From here on the masks have gradients, zero at first.
  void WantGradient();

  // Adds to `d_mask` the gradient of a mask that was added with `strides`.
  // Requires: WantGradient, then a backward pass.
  void AddGradient(MaskStrides strides, std::span<float> d_mask) const;

  // One for each sentence; they point into this object.
  std::span<const SentenceMask> sentences() const { return masks_; }

  // The strides of masks of these shapes:
  MaskStrides Shared() const;     // [queries, keys]
  MaskStrides OfHeads() const;    // [sentences * heads, queries, keys]
  MaskStrides OfPadding() const;  // [sentences, keys]

 private:
  // visit(element of this, element of a mask with `strides`)
  template <class Visit>
  void ForEach(MaskStrides strides, Visit visit) const;
  size_t SentenceSize() const;
  void PointMasks();

  Shape shape_;
  std::vector<float> values_;  // [sentences, heads, queries, keys + extra]
  std::vector<float> gradient_;
  std::vector<SentenceMask> masks_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_PADDED_MASKS_H_
