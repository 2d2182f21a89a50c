#include "lib/nn/padded_masks.h"

#include <algorithm>
#include <limits>

namespace pipeformer {

template <class Visit>
void PaddedMasks::ForEach(MaskStrides strides, Visit visit) const {
  const int64_t width = shape_.keys + shape_.extra_keys;
  int64_t row = 0;
  for (int64_t s = 0; s < shape_.sentences; ++s) {
    for (int64_t h = 0; h < shape_.heads; ++h) {
      for (int64_t q = 0; q < shape_.queries; ++q, ++row) {
        const int64_t from =
            s * strides.sentence + h * strides.head + q * strides.query;
        for (int64_t k = 0; k < shape_.keys; ++k) {
          visit(static_cast<size_t>(row * width + k),
                static_cast<size_t>(from + k));
        }
      }
    }
  }
}

PaddedMasks::PaddedMasks(const Shape& shape) : shape_(shape) {
  values_.resize(static_cast<size_t>(shape.sentences) * SentenceSize());
  PointMasks();
}

size_t PaddedMasks::SentenceSize() const {
  return static_cast<size_t>(shape_.heads * shape_.queries *
                             (shape_.keys + shape_.extra_keys));
}

void PaddedMasks::PointMasks() {
  const size_t size = SentenceSize();
  masks_.resize(static_cast<size_t>(shape_.sentences));
  for (size_t s = 0; s < masks_.size(); ++s) {
    masks_[s] = {
        .values = values_.data() + s * size,
        .head_stride =
            shape_.heads == 1 ? 0 : static_cast<int64_t>(size) / shape_.heads,
        .gradient = gradient_.empty() ? nullptr : gradient_.data() + s * size};
  }
}

void PaddedMasks::Add(std::span<const float> mask, MaskStrides strides) {
  ForEach(strides, [&](size_t to, size_t from) { values_[to] += mask[from]; });
}

void PaddedMasks::AddCausal() {
  std::vector<float> mask(static_cast<size_t>(shape_.queries * shape_.keys));
  for (int64_t q = 0; q < shape_.queries; ++q) {
    const auto row = mask.begin() + q * shape_.keys;
    std::fill(row + std::min(q + 1, shape_.keys), row + shape_.keys,
              -std::numeric_limits<float>::infinity());
  }
  Add(mask, Shared());
}

void PaddedMasks::WantGradient() {
  gradient_.assign(values_.size(), 0);
  PointMasks();
}

void PaddedMasks::AddGradient(MaskStrides strides,
                              std::span<float> d_mask) const {
  ForEach(strides,
          [&](size_t from, size_t to) { d_mask[to] += gradient_[from]; });
}

MaskStrides PaddedMasks::Shared() const { return {.query = shape_.keys}; }

MaskStrides PaddedMasks::OfHeads() const {
  const int64_t head = shape_.queries * shape_.keys;
  return {.sentence = shape_.heads * head, .head = head, .query = shape_.keys};
}

MaskStrides PaddedMasks::OfPadding() const { return {.sentence = shape_.keys}; }

}  // namespace pipeformer
