#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/cross_entropy.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "lib/ops/cross_entropy.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

float LogSumExpImpl(const float* row, int64_t count) {
  const float max = MaxOf(row, count);
  const float sum = SumOf(count, [&](auto d, int64_t i) HWY_ATTR {
    return hn::Exp(d, hn::Sub(hn::LoadU(d, row + i), hn::Set(d, max)));
  });
  return max + std::log(sum);
}

// Writes exp(x - max) over the row, so that exp is computed once, and then
// d_x = scale (softmax - (1 - e) onehot - e / count).
double CrossEntropyRow(float* row, int64_t count, int32_t target,
                       CrossEntropyOptions options, double* plain_loss) {
  const float max = MaxOf(row, count);
  const float target_logit = row[target];
  const float mean =
      SumOf(count,
            [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, row + i); }) /
      static_cast<float>(count);
  const float sum = SumOf(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, row + i), hn::Set(d, max)));
    hn::StoreU(e, d, row + i);
    return e;
  });
  const float lse = max + std::log(sum);
  const float smoothing = options.label_smoothing;
  const float scale = options.gradient_scale / sum;
  const float shift =
      -options.gradient_scale * smoothing / static_cast<float>(count);
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    hn::StoreU(
        hn::MulAdd(hn::LoadU(d, row + i), hn::Set(d, scale), hn::Set(d, shift)),
        d, row + i);
  });
  row[target] -= options.gradient_scale * (1 - smoothing);
  *plain_loss += static_cast<double>(lse - target_logit);
  return static_cast<double>((1 - smoothing) * (lse - target_logit) +
                             smoothing * (lse - mean));
}

double CrossEntropyInPlaceImpl(Matrix logits, std::span<const int32_t> targets,
                               CrossEntropyOptions options,
                               double* plain_loss) {
  double loss = 0;
  CrossEntropyOptions row = options;
  for (int64_t r = 0; r < logits.rows; ++r) {
    const auto at = static_cast<size_t>(r);
    const float weight = options.weights.empty() ? 1 : options.weights[at];
    row.gradient_scale = weight * options.gradient_scale;
    double plain = 0;
    loss += weight * CrossEntropyRow(logits.Row(r), logits.cols, targets[at],
                                     row, &plain);
    *plain_loss += weight * plain;
  }
  return loss;
}

// Puts a candidate into its place among `best`, the last one falls out.
HWY_INLINE void Insert(Candidate candidate, std::span<Candidate> best) {
  size_t place = best.size() - 1;
  while (place > 0 && best[place - 1].logit < candidate.logit) {
    best[place] = best[place - 1];
    --place;
  }
  best[place] = candidate;
}

void SelectBestImpl(const float* row, int64_t count,
                    std::span<Candidate> best) {
  for (Candidate& c : best) {
    c = {-std::numeric_limits<float>::infinity(), -1};
  }
  // Almost every vector holds nothing above the weakest of the best so far.
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto weakest = hn::Set(d, best.back().logit);
    if (hn::AllFalse(d, hn::Gt(hn::LoadU(d, row + i), weakest))) return;
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      const float logit = row[i + static_cast<int64_t>(lane)];
      if (logit > best.back().logit) {
        Insert({logit, static_cast<int32_t>(i + static_cast<int64_t>(lane))},
               best);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(LogSumExpImpl);
HWY_EXPORT(CrossEntropyInPlaceImpl);
HWY_EXPORT(SelectBestImpl);

float LogSumExp(const float* row, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(LogSumExpImpl)(row, count);
}

double CrossEntropyInPlace(Matrix logits, std::span<const int32_t> targets,
                           CrossEntropyOptions options, double* plain_loss) {
  return HWY_DYNAMIC_DISPATCH(CrossEntropyInPlaceImpl)(logits, targets, options,
                                                       plain_loss);
}

namespace {

// SelectBest over a heap whose top is the weakest: for many, where inserting
// one by one would cost more.
void SelectMany(const float* row, int64_t count, std::span<Candidate> best) {
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  std::ranges::fill(best,
                    Candidate{-std::numeric_limits<float>::infinity(), -1});
  for (int64_t id = 0; id < count; ++id) {
    if (!(row[id] > best.front().logit)) continue;
    std::pop_heap(best.begin(), best.end(), is_better);
    best.back() = {row[id], static_cast<int32_t>(id)};
    std::push_heap(best.begin(), best.end(), is_better);
  }
  std::sort_heap(best.begin(), best.end(), is_better);
}

}  // namespace

void SelectBest(const float* row, int64_t count, std::span<Candidate> best) {
  constexpr size_t kFew = 64;
  if (best.size() > kFew) return SelectMany(row, count, best);
  HWY_DYNAMIC_DISPATCH(SelectBestImpl)(row, count, best);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
