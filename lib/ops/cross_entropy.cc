#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/cross_entropy.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "lib/ops/cross_entropy.h"
#include "lib/ops/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

HWY_INLINE void AddRow(const float* row, int64_t count, ExpSum& sum) {
  const float max = std::max(sum.max, MaxOf(row, count));
  if (max == -std::numeric_limits<float>::infinity()) return;
  if (max != sum.max) sum.exps *= std::exp(sum.max - max);
  sum.max = max;
  sum.exps += SumOf(count, [&](auto d, int64_t i) HWY_ATTR {
    return ExpOfNegative(d, hn::Sub(hn::LoadU(d, row + i), hn::Set(d, max)));
  });
}

void AddExpsImpl(Matrix logits, std::span<ExpSum> sums) {
  for (int64_t r = 0; r < logits.rows; ++r) {
    AddRow(logits.Row(r), logits.cols, sums[static_cast<size_t>(r)]);
  }
}

void SeeLogitsImpl(Matrix logits, std::span<LogitSum> sums) {
  const int64_t count = logits.cols;
  for (int64_t r = 0; r < logits.rows; ++r) {
    const float* row = logits.Row(r);
    LogitSum& sum = sums[static_cast<size_t>(r)];
    AddRow(row, count, sum);
    sum.logits += SumOf(count, [&](auto d, int64_t i)
                                   HWY_ATTR { return hn::LoadU(d, row + i); });
  }
}

// d_x = scale softmax + shift.
void SoftmaxGradient(float* row, int64_t count, float max, float scale,
                     float shift) {
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto e =
        ExpOfNegative(d, hn::Sub(hn::LoadU(d, row + i), hn::Set(d, max)));
    hn::StoreU(hn::MulAdd(e, hn::Set(d, scale), hn::Set(d, shift)), d, row + i);
  });
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

void SelectBestImpl(const float* row, int64_t count, int32_t first,
                    std::span<Candidate> best) {
  // Almost every vector holds nothing above the weakest of the best so far.
  ForEachVector(count, [&](auto d, int64_t i) HWY_ATTR {
    const auto weakest = hn::Set(d, best.back().logit);
    if (hn::AllFalse(d, hn::Gt(hn::LoadU(d, row + i), weakest))) return;
    for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
      const float logit = row[i + static_cast<int64_t>(lane)];
      if (logit > best.back().logit) {
        const auto place = static_cast<int32_t>(i) + static_cast<int32_t>(lane);
        Insert({logit, first + place}, best);
      }
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pipeformer {

HWY_EXPORT(AddExpsImpl);
HWY_EXPORT(SeeLogitsImpl);
HWY_EXPORT(SoftmaxGradient);
HWY_EXPORT(SelectBestImpl);

float ExpSum::log_sum() const {
  return static_cast<float>(max + std::log(exps));
}

void AddExps(Matrix logits, std::span<ExpSum> sums) {
  HWY_DYNAMIC_DISPATCH(AddExpsImpl)(logits, sums);
}

float LogSumExp(const float* row, int64_t count) {
  ExpSum sum;
  for (int64_t first = 0; first < count; first += kLogitPart) {
    auto* part = const_cast<float*>(row + first);  // which is only read
    AddExps(DenseMatrix(part, 1, std::min(kLogitPart, count - first)),
            {&sum, 1});
  }
  return sum.log_sum();
}

void SeeLogits(Matrix logits, int64_t first, std::span<const int32_t> targets,
               std::span<LogitSum> sums) {
  HWY_DYNAMIC_DISPATCH(SeeLogitsImpl)(logits, sums);
  for (int64_t r = 0; r < logits.rows; ++r) {
    const int64_t place = targets[static_cast<size_t>(r)] - first;
    if (place < 0 || place >= logits.cols) continue;
    sums[static_cast<size_t>(r)].target = logits.Row(r)[place];
  }
}

double CrossEntropy(std::span<const LogitSum> sums,
                    const CrossEntropyOptions& options, double* plain_loss) {
  const double smoothing = options.label_smoothing;
  double loss = 0;
  for (size_t r = 0; r < sums.size(); ++r) {
    const LogitSum& sum = sums[r];
    const double weight = options.weights.empty() ? 1 : options.weights[r];
    const double lse = sum.max + std::log(sum.exps);
    const double mean = sum.logits / static_cast<double>(options.vocabulary);
    *plain_loss += weight * (lse - sum.target);
    loss += weight *
            ((1 - smoothing) * (lse - sum.target) + smoothing * (lse - mean));
  }
  return loss;
}

void LogitGradient(Matrix logits, int64_t first,
                   std::span<const int32_t> targets,
                   std::span<const LogitSum> sums,
                   const CrossEntropyOptions& options) {
  for (int64_t r = 0; r < logits.rows; ++r) {
    const auto at = static_cast<size_t>(r);
    const double scale = static_cast<double>(options.gradient_scale) *
                         (options.weights.empty() ? 1.0 : options.weights[at]);
    const double smoothing = options.label_smoothing;
    float* row = logits.Row(r);
    HWY_DYNAMIC_DISPATCH(SoftmaxGradient)
    (row, logits.cols, sums[at].max, static_cast<float>(scale / sums[at].exps),
     static_cast<float>(-scale * smoothing /
                        static_cast<double>(options.vocabulary)));
    const int64_t place = targets[at] - first;
    if (place < 0 || place >= logits.cols) continue;
    row[place] -= static_cast<float>(scale * (1 - smoothing));
  }
}

namespace {

// SelectBest over a heap whose top is the weakest: for many, where inserting
// one by one would cost more.
void SelectMany(const float* row, int64_t count, int32_t first,
                std::span<Candidate> best) {
  const auto is_better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  };
  std::reverse(best.begin(), best.end());  // from the weakest: a heap
  for (int64_t i = 0; i < count; ++i) {
    if (!(row[i] > best.front().logit)) continue;
    std::pop_heap(best.begin(), best.end(), is_better);
    best.back() = {row[i], first + static_cast<int32_t>(i)};
    std::push_heap(best.begin(), best.end(), is_better);
  }
  std::sort_heap(best.begin(), best.end(), is_better);
}

}  // namespace

void SelectBest(const float* logits, int64_t count, int32_t first,
                std::span<Candidate> best) {
  constexpr size_t kFew = 64;
  if (best.size() > kFew) return SelectMany(logits, count, first, best);
  HWY_DYNAMIC_DISPATCH(SelectBestImpl)(logits, count, first, best);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
