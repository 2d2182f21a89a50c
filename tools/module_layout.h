// How the tensors of a record lie: padded tensors with a batch axis, as PyTorch
// takes them, against the rows of a ragged batch, one sentence after another.
#ifndef PIPEFORMER_TOOLS_MODULE_LAYOUT_H_
#define PIPEFORMER_TOOLS_MODULE_LAYOUT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/tensor_view.h"
#include "tools/module_signature.h"

namespace pipeformer {

// A dimension of several tensors: the first of them sets its size.
struct Dimension {
  std::string letter;  // stands for the size while it is not known
  int64_t size = 0;    // 0: not known yet
};
using Dimensions = std::vector<Dimension*>;

// Sets the sizes that are not known yet. Throws Error (65), naming both shapes,
// unless `shape` fits those that are and has no size below 1.
void FitShape(const std::string& name, const std::vector<int64_t>& shape,
              const Dimensions& dimensions);

// Which axis counts the sentences: [L, N, E] or [N, L, E] (batch_first).
enum class BatchAxis { kSecond, kFirst };

class ModuleLayout {
 public:
  explicit ModuleLayout(BatchAxis axis) : axis_(axis) {}

  // From here on tensors have no batch axis, and there is one sentence.
  void LeaveOutBatch();

  // The dimensions of a sequence [L, N, width] and of masks [N, S]; they fit
  // one after another (FitShape).
  Dimensions OfSequence(Side side, Dimension& width);
  Dimensions OfPadding(Side side);

  Dimension& length(Side side) {
    return side == Side::kTarget ? target_ : source_;
  }
  int64_t sentences() const { return batch_.size; }
  bool batched() const { return batched_; }

  // Requires in what follows: the sizes of that side are known.

  // [sentences + 1], where the rows of each sentence begin.
  std::vector<int32_t> Offsets(Side side);

  // Copies a sequence, row by row, to `rows` [sentences * length, width].
  void ToRows(Side side, const std::vector<float>& sequence, Matrix rows);

  // The way back, as a tensor of its own.
  OwnedTensor FromRows(Side side, Matrix rows);

 private:
  // visit(row, position in the tensor) for every position.
  template <class Visit>
  void ForEachPosition(Side side, Visit visit);

  BatchAxis axis_;
  bool batched_ = true;
  Dimension batch_{"N"}, target_{"L"}, source_{"S"};
};

// A tensor F32 with a copy of `values`.
OwnedTensor FloatTensor(std::vector<int64_t> shape,
                        std::span<const float> values);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_LAYOUT_H_
