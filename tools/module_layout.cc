#include "tools/module_layout.h"

#include <algorithm>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

std::string DimensionsText(const Dimensions& dimensions) {
  std::string text;
  for (const Dimension* d : dimensions) {
    text += (text.empty() ? "" : ", ") +
            (d->size == 0 ? d->letter : std::to_string(d->size));
  }
  return "[" + text + "]";
}

}  // namespace

void FitShape(const std::string& name, const std::vector<int64_t>& shape,
              const Dimensions& dimensions) {
  const bool fits = std::ranges::equal(
      shape, dimensions, [](int64_t size, const Dimension* d) {
        return size >= 1 && (d->size == 0 || d->size == size);
      });
  if (!fits) {
    ThrowBadData(name + " is " + ShapeText(shape) + ", wanted " +
                 DimensionsText(dimensions));
  }
  for (size_t i = 0; i < shape.size(); ++i) dimensions[i]->size = shape[i];
}

void ModuleLayout::LeaveOutBatch() {
  batched_ = false;
  batch_.size = 1;
}

Dimensions ModuleLayout::OfSequence(Side side, Dimension& width) {
  if (!batched_) return {&length(side), &width};
  if (axis_ == BatchAxis::kFirst) return {&batch_, &length(side), &width};
  return {&length(side), &batch_, &width};
}

Dimensions ModuleLayout::OfPadding(Side side) {
  if (!batched_) return {&length(side)};
  return {&batch_, &length(side)};
}

template <class Visit>
void ModuleLayout::ForEachPosition(Side side, Visit visit) {
  const int64_t size = length(side).size;
  for (int64_t n = 0; n < batch_.size; ++n) {
    for (int64_t l = 0; l < size; ++l) {
      const int64_t row = n * size + l;
      visit(row, axis_ == BatchAxis::kFirst ? row : l * batch_.size + n);
    }
  }
}

std::vector<int32_t> ModuleLayout::Offsets(Side side) {
  std::vector<int32_t> offsets;
  for (int64_t n = 0; n <= batch_.size; ++n) {
    offsets.push_back(static_cast<int32_t>(n * length(side).size));
  }
  return offsets;
}

void ModuleLayout::ToRows(Side side, const std::vector<float>& sequence,
                          Matrix rows) {
  ForEachPosition(side, [&](int64_t row, int64_t from) {
    std::copy_n(sequence.data() + from * rows.cols, rows.cols, rows.Row(row));
  });
}

OwnedTensor ModuleLayout::FromRows(Side side, Matrix rows) {
  std::vector<float> values(static_cast<size_t>(rows.size()));
  ForEachPosition(side, [&](int64_t row, int64_t to) {
    std::copy_n(rows.Row(row), rows.cols, values.data() + to * rows.cols);
  });
  Dimension width{"E", rows.cols};
  std::vector<int64_t> shape;
  for (const Dimension* d : OfSequence(side, width)) shape.push_back(d->size);
  return FloatTensor(std::move(shape), values);
}

OwnedTensor FloatTensor(std::vector<int64_t> shape,
                        std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {DType::kF32, std::move(shape), {bytes.begin(), bytes.end()}};
}

}  // namespace pipeformer
