// Kernels of dropout.h, activation.h and vector_ops.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/ops/elementwise.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "lib/ops/activation.h"
#include "lib/ops/dropout.h"
#include "lib/ops/simd-inl.h"
#include "lib/ops/vector_ops.h"

HWY_BEFORE_NAMESPACE();
namespace pipeformer {
namespace HWY_NAMESPACE {

// The elements x at `index`: scaled where they stay, zero where they fall.
template <class D, class V>
HWY_INLINE V Drop(D d, V x, const Dropout& dropout, uint32_t index) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = RandomBits(d, dropout.key, index);
  const auto falls = hn::Lt(bits, hn::Set(du, dropout.threshold()));
  return hn::IfThenZeroElse(hn::RebindMask(d, falls),
                            hn::Mul(x, hn::Set(d, dropout.scale())));
}

uint32_t FirstIndex(Matrix m, int64_t row) {
  return static_cast<uint32_t>(row * m.cols);
}

void DropoutAddForwardImpl(Matrix src, Matrix residual, Dropout dropout,
                           Matrix dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    const float* add = residual.data == nullptr ? nullptr : residual.Row(r);
    float* y = dst.Row(r);
    const uint32_t first = FirstIndex(src, r);
    ForEachVector(src.cols, [&](auto d, int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, x + i);
      if (dropout.active()) {
        v = Drop(d, v, dropout, first + static_cast<uint32_t>(i));
      }
      if (add != nullptr) v = hn::Add(hn::LoadU(d, add + i), v);
      hn::StoreU(v, d, y + i);
    });
  }
}

void DropoutBackwardImpl(Matrix d_dst, Dropout dropout, Write write,
                         Matrix d_src) {
  for (int64_t r = 0; r < d_dst.rows; ++r) {
    const float* dy = d_dst.Row(r);
    float* dx = d_src.Row(r);
    const uint32_t first = FirstIndex(d_dst, r);
    ForEachVector(d_dst.cols, [&](auto d, int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, dy + i);
      if (dropout.active()) {
        v = Drop(d, v, dropout, first + static_cast<uint32_t>(i));
      }
      if (write == Write::kAdd) v = hn::Add(hn::LoadU(d, dx + i), v);
      hn::StoreU(v, d, dx + i);
    });
  }
}

// The error function to 1.5e-7. Source: Abramowitz & Stegun, 7.1.26.
template <class D, class V>
HWY_INLINE V ErrorFunction(D d, V x) {
  const auto one = hn::Set(d, 1.0f);
  const auto a = hn::Abs(x);
  const auto t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911f), a, one));
  auto p = hn::Set(d, 1.061405429f);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027f));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741f));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736f));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592f));
  const auto tail = hn::Mul(hn::Mul(p, t), hn::Exp(d, hn::Neg(hn::Mul(a, a))));
  return hn::CopySign(hn::Sub(one, tail), x);
}

template <class D, class V>
HWY_INLINE V NormalDistribution(D d, V x) {
  const auto half = hn::Set(d, 0.5f);
  const auto erf = ErrorFunction(d, hn::Mul(x, hn::Set(d, 0.70710678f)));
  return hn::MulAdd(half, erf, half);
}

// hn::Exp is wrong above 104, hence a limit where it is infinite; NaN passes.
template <class D, class V>
HWY_INLINE V Sigmoid(D d, V x) {
  const auto one = hn::Set(d, 1.0f);
  const auto negative = hn::Min(hn::Set(d, 100.0f), hn::Neg(x));
  return hn::Div(one, hn::Add(one, hn::Exp(d, negative)));
}

template <class D, class V>
HWY_INLINE V Activate(D d, V x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return hn::Mul(x, NormalDistribution(d, x));
    case Activation::kSwish:
      return hn::Mul(x, Sigmoid(d, x));
    case Activation::kRelu:
      break;
  }
  return hn::Max(x, hn::Zero(d));
}

template <class D, class V>
HWY_INLINE V ActivationSlope(D d, V x, Activation activation) {
  const auto one = hn::Set(d, 1.0f);
  switch (activation) {
    case Activation::kGelu: {
      const auto density =
          hn::Mul(hn::Set(d, 0.39894228f),
                  hn::Exp(d, hn::Mul(hn::Set(d, -0.5f), hn::Mul(x, x))));
      return hn::MulAdd(x, density, NormalDistribution(d, x));
    }
    case Activation::kSwish: {
      const auto s = Sigmoid(d, x);
      return hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
    }
    case Activation::kRelu:
      break;
  }
  return hn::IfThenElseZero(hn::Gt(x, hn::Zero(d)), one);
}

void ActivationForwardImpl(Matrix src, Activation activation, Dropout dropout,
                           Matrix dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    float* y = dst.Row(r);
    const uint32_t first = FirstIndex(src, r);
    ForEachVector(src.cols, [&](auto d, int64_t i) HWY_ATTR {
      auto v = Activate(d, hn::LoadU(d, x + i), activation);
      if (dropout.active()) {
        v = Drop(d, v, dropout, first + static_cast<uint32_t>(i));
      }
      hn::StoreU(v, d, y + i);
    });
  }
}

void ActivationBackwardImpl(Matrix src, Activation activation, Dropout dropout,
                            Matrix gradient) {
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    float* dx = gradient.Row(r);
    const uint32_t first = FirstIndex(src, r);
    ForEachVector(src.cols, [&](auto d, int64_t i) HWY_ATTR {
      auto v = hn::LoadU(d, dx + i);
      if (dropout.active()) {
        v = Drop(d, v, dropout, first + static_cast<uint32_t>(i));
      }
      const auto slope = ActivationSlope(d, hn::LoadU(d, x + i), activation);
      hn::StoreU(hn::Mul(slope, v), d, dx + i);
    });
  }
}

void AddToImpl(Matrix src, Matrix dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    float* y = dst.Row(r);
    ForEachVector(src.cols, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i);
    });
  }
}

void SetScaledImpl(Matrix src, float factor, Matrix dst) {
  for (int64_t r = 0; r < src.rows; ++r) {
    const float* x = src.Row(r);
    float* y = dst.Row(r);
    ForEachVector(src.cols, [&](auto d, int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, y + i);
    });
  }
}

void AddRows(Matrix src, float* sum) {
  for (int64_t r = 0; r < src.rows; ++r) {
    AddToImpl(src.Rows(r, 1), DenseMatrix(sum, 1, src.cols));
  }
}

// In blocks of columns whose sums stay in registers.
void SumRowsImpl(Matrix src, float* sum) {
  const Lanes d;
  constexpr int64_t kVectors = 8;
  const int64_t n = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + kVectors * n <= src.cols; c += kVectors * n) {
    hn::Vec<Lanes> total[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) {
      total[v] = hn::LoadU(d, sum + c + v * n);
    }
    for (int64_t r = 0; r < src.rows; ++r) {
      const float* x = src.Row(r) + c;
      for (int64_t v = 0; v < kVectors; ++v) {
        total[v] = hn::Add(total[v], hn::LoadU(d, x + v * n));
      }
    }
    for (int64_t v = 0; v < kVectors; ++v) {
      hn::StoreU(total[v], d, sum + c + v * n);
    }
  }
  if (c == src.cols) return;
  AddRows(src.Columns(c, src.cols - c), sum + c);
}

double SumOfSquaresImpl(const float* src, int64_t count) {
  constexpr int64_t kPiece = 1024;  // float sums stay short, so exact enough
  double sum = 0;
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const float* x = src + begin;
    const int64_t n = count - begin < kPiece ? count - begin : kPiece;
    sum += SumOf(n, [&](auto d, int64_t i) HWY_ATTR {
      const auto v = hn::LoadU(d, x + i);
      return hn::Mul(v, v);
    });
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace pipeformer
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace pipeformer {

HWY_EXPORT(DropoutAddForwardImpl);
HWY_EXPORT(DropoutBackwardImpl);
HWY_EXPORT(ActivationForwardImpl);
HWY_EXPORT(ActivationBackwardImpl);
HWY_EXPORT(AddToImpl);
HWY_EXPORT(SetScaledImpl);
HWY_EXPORT(SumRowsImpl);
HWY_EXPORT(SumOfSquaresImpl);

void DropoutAddForward(Matrix src, Matrix residual, Dropout dropout,
                       Matrix dst) {
  HWY_DYNAMIC_DISPATCH(DropoutAddForwardImpl)(src, residual, dropout, dst);
}

void DropoutBackward(Matrix d_dst, Dropout dropout, Write write, Matrix d_src) {
  HWY_DYNAMIC_DISPATCH(DropoutBackwardImpl)(d_dst, dropout, write, d_src);
}

void ActivationForward(Matrix src, Activation activation, Dropout dropout,
                       Matrix dst) {
  HWY_DYNAMIC_DISPATCH(ActivationForwardImpl)(src, activation, dropout, dst);
}

void ActivationBackward(Matrix src, Activation activation, Dropout dropout,
                        Matrix d) {
  HWY_DYNAMIC_DISPATCH(ActivationBackwardImpl)(src, activation, dropout, d);
}

void AddTo(Matrix src, Matrix dst) {
  HWY_DYNAMIC_DISPATCH(AddToImpl)(src, dst);
}

void SetScaled(Matrix src, float factor, Matrix dst) {
  HWY_DYNAMIC_DISPATCH(SetScaledImpl)(src, factor, dst);
}

void SumRows(Matrix src, float* sum) {
  HWY_DYNAMIC_DISPATCH(SumRowsImpl)(src, sum);
}

void SetZero(Matrix dst) {
  for (int64_t r = 0; r < dst.rows; ++r) {
    std::fill_n(dst.Row(r), dst.cols, 0.0f);
  }
}

double SumOfSquares(const float* src, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquaresImpl)(src, count);
}

}  // namespace pipeformer
#endif  // HWY_ONCE
