#include "lib/nn/output_loss.h"

#include <algorithm>
#include <numeric>

#include "lib/ops/cross_entropy.h"

namespace pipeformer {
namespace {

// Rows and pieces of the vocabulary whose logits are computed together: 512 KB
// that are read for the loss before they leave the cache.
constexpr int64_t kRows = 256;
constexpr int64_t kPanel = 512;

// Some rows of a batch.
struct Rows {
  Matrix hidden, d_hidden;
  Write write;  // of d_hidden
  std::span<const int32_t> targets;
  CrossEntropyOptions options;
};

void AddLoss(Context& context, const Linear& output, const Rows& rows,
             LossSum* sum) {
  const int64_t vocab = output.out(), count = rows.hidden.rows;
  const Matrix logits = context.arena.NewMatrix(vocab, count);
  const auto for_each_panel = [&](auto run) {
    for (int64_t first = 0; first < vocab; first += kPanel) {
      const int64_t pieces = std::min(kPanel, vocab - first);
      run(output.Rows(first, pieces), first,
          DenseMatrix(logits.Row(first), count, pieces));
    }
  };
  const std::span<LogitSum> sums(context.arena.Array<LogitSum>(count),
                                 static_cast<size_t>(count));
  std::ranges::fill(sums, LogitSum());
  for_each_panel([&](const Linear& layer, int64_t first, Matrix panel) {
    layer.Apply(context, rows.hidden, panel);
    SeeLogits(panel, first, rows.targets, sums);
  });
  sum->smoothed += CrossEntropy(sums, rows.options, &sum->plain);
  if (context.tape == nullptr) return;
  for_each_panel([&](const Linear& layer, int64_t first, Matrix panel) {
    LogitGradient(panel, first, rows.targets, sums, rows.options);
    layer.Backward(context.gradients, rows.hidden, panel, rows.d_hidden,
                   first > 0 ? Write::kAdd : rows.write);
  });
}

}  // namespace

LossSum OutputLoss(Context& context, const Linear& output, Variable hidden,
                   std::span<const int32_t> targets,
                   const LossOptions& options) {
  LossSum sum;
  sum.pieces = hidden.rows();
  sum.weight = options.weights.empty()
                   ? static_cast<double>(sum.pieces)
                   : std::accumulate(options.weights.begin(),
                                     options.weights.end(), 0.0);
  const auto mark = context.arena.mark();
  const Write write =
      context.tape == nullptr ? Write::kSet : hidden.ClaimGrad();
  for (int64_t begin = 0; begin < hidden.rows(); begin += kRows) {
    const int64_t count = std::min(kRows, hidden.rows() - begin);
    const auto of_rows = [&](auto list) {
      return list.subspan(static_cast<size_t>(begin),
                          static_cast<size_t>(count));
    };
    AddLoss(context, output,
            {.hidden = hidden.value.Rows(begin, count),
             .d_hidden = hidden.grad.Rows(begin, count),
             .write = write,
             .targets = of_rows(targets),
             .options = {.vocabulary = output.out(),
                         .label_smoothing = options.label_smoothing,
                         .gradient_scale = options.gradient_scale,
                         .weights = options.weights.empty()
                                        ? options.weights
                                        : of_rows(options.weights)}},
            &sum);
    context.arena.Rewind(mark);
  }
  return sum;
}

}  // namespace pipeformer
