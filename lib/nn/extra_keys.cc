#include "lib/nn/extra_keys.h"

#include <algorithm>

namespace pipeformer {

Variable AppendRow(Context& context, Variable x,
                   std::span<const int32_t> offsets, const Parameter* extra) {
  const int64_t width = x.width();
  const auto sentences = static_cast<int64_t>(offsets.size()) - 1;
  const Variable y = context.New(x.rows() + sentences, width);
  for (int64_t s = 0; s < sentences; ++s) {
    const int64_t first = offsets[static_cast<size_t>(s)];
    const int64_t end = offsets[static_cast<size_t>(s) + 1];
    for (int64_t r = first; r < end; ++r) {
      std::copy_n(x.value.Row(r), width, y.value.Row(r + s));
    }
    if (extra == nullptr) {
      std::fill_n(y.value.Row(end + s), width, 0.0f);
    } else {
      std::copy_n(extra->value.data, width, y.value.Row(end + s));
    }
  }
  if (context.tape == nullptr) return y;
  float* d_extra =
      extra == nullptr ? nullptr : GradientOf(*extra, context.gradients).data;
  context.tape->Record(Op::kOther, context.arena, [=] {
    if (!*y.has_grad) return;
    *x.has_grad = true;  // it has no other use
    for (int64_t s = 0; s < sentences; ++s) {
      const int64_t end = offsets[static_cast<size_t>(s) + 1];
      for (int64_t r = offsets[static_cast<size_t>(s)]; r < end; ++r) {
        std::copy_n(y.grad.Row(r + s), width, x.grad.Row(r));
      }
      if (d_extra == nullptr) continue;
      for (int64_t i = 0; i < width; ++i) d_extra[i] += y.grad.Row(end + s)[i];
    }
  });
  return y;
}

std::span<const int32_t> WithOneMore(Context& context,
                                     std::span<const int32_t> offsets) {
  auto* more =
      context.arena.Array<int32_t>(static_cast<int64_t>(offsets.size()));
  for (size_t s = 0; s < offsets.size(); ++s) {
    more[s] = offsets[s] + static_cast<int32_t>(s);
  }
  return {more, offsets.size()};
}

}  // namespace pipeformer
