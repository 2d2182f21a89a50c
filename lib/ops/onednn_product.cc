#include "lib/ops/onednn_product.h"

#include <omp.h>

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace pipeformer {
namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;

constexpr auto kF32 = Memory::data_type::f32;

// Every use of oneDNN starts here. A primitive is planned for the threads that
// its maker may use, so the number is set before the first one is made.
const dnnl::engine& Engine() {
  thread_local const bool alone = [] {
    omp_set_num_threads(1);  // our threads are one level up, over sentences
    return true;
  }();
  static_cast<void>(alone);
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& Stream() {
  thread_local dnnl::stream stream(Engine());
  return stream;
}

// A [rows, cols] operand; `transposed` means it is stored as [cols, rows].
Memory::desc Describe(int64_t rows, int64_t cols, int64_t stride,
                      bool transposed) {
  const Memory::dims strides =
      transposed ? Memory::dims{1, stride} : Memory::dims{stride, 1};
  return {{rows, cols}, kF32, strides};
}

// The one place that knows both generations of the oneDNN interface.
dnnl::matmul::primitive_desc MakeDescription(const Memory::desc& a,
                                             const Memory::desc& b,
                                             const Memory::desc* bias,
                                             const Memory::desc& c,
                                             const dnnl::primitive_attr& attr) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr) return {Engine(), a, b, *bias, c, attr};
  return {Engine(), a, b, c, attr};
#else
  if (bias != nullptr) return {{a, b, *bias, c}, attr, Engine()};
  return {{a, b, c}, attr, Engine()};
#endif
}

// oneDNN's preferred layout of a right factor, asked for with a row count that
// any batch may have; the layout does not depend on it.
Memory::desc PackedDescription(int64_t inner, int64_t cols) {
  const Memory::desc any({inner, cols}, kF32, Tag::any);
  return MakeDescription(Describe(64, inner, inner, false), any, nullptr,
                         Describe(64, cols, cols, false), {})
      .weights_desc();
}

// A primitive with the memory objects it runs on. Used by one thread.
class Product {
 public:
  explicit Product(const MatMulShape& s) {
    const Memory::desc a =
        Describe(s.rows, s.inner, s.a_stride, s.a_transposed);
    const Memory::desc b =
        s.b_layout == RightLayout::kPacked
            ? PackedDescription(s.inner, s.cols)
            : Describe(s.inner, s.cols, s.b_stride,
                       s.b_layout == RightLayout::kTransposed);
    const Memory::desc c = Describe(s.rows, s.cols, s.c_stride, false);
    const Memory::desc bias({1, s.cols}, kF32, Tag::ab);
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (s.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const auto description =
        MakeDescription(a, b, s.bias ? &bias : nullptr, c, attr);
    primitive_ = dnnl::matmul(description);
    Bind(DNNL_ARG_SRC, a);
    Bind(DNNL_ARG_WEIGHTS, b);
    Bind(DNNL_ARG_DST, c);
    if (s.bias) Bind(DNNL_ARG_BIAS, bias);
    Bind(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
    scratchpad_bytes_ = description.scratchpad_desc().get_size();
  }

  void Run(const float* a, const float* b, const float* bias, float* c) {
    Set(DNNL_ARG_SRC, a);
    Set(DNNL_ARG_WEIGHTS, b);
    Set(DNNL_ARG_DST, c);
    if (bias != nullptr) Set(DNNL_ARG_BIAS, bias);
    thread_local std::vector<std::byte> scratchpad;  // one for all products
    if (scratchpad.size() < scratchpad_bytes_ + kAlignment) {
      scratchpad.resize(scratchpad_bytes_ + kAlignment);
    }
    const auto address = reinterpret_cast<uintptr_t>(scratchpad.data());
    arguments_.at(DNNL_ARG_SCRATCHPAD)
        .set_data_handle(reinterpret_cast<void*>((address + kAlignment - 1) &
                                                 ~(kAlignment - 1)));
    primitive_.execute(Stream(), arguments_);
  }

 private:
  static constexpr size_t kAlignment = 64;

  void Bind(int argument, const Memory::desc& description) {
    arguments_.insert({argument, Memory(description, Engine(), nullptr)});
  }

  void Set(int argument, const float* data) {
    arguments_.at(argument).set_data_handle(const_cast<float*>(data));
  }

  dnnl::matmul primitive_;
  std::unordered_map<int, Memory> arguments_;
  size_t scratchpad_bytes_ = 0;
};

struct HashShape {
  size_t operator()(const MatMulShape& s) const {
    size_t h = static_cast<size_t>(s.b_layout) * 8 + s.a_transposed * 4 +
               s.accumulate * 2 + s.bias;
    for (int64_t x :
         {s.rows, s.cols, s.inner, s.a_stride, s.b_stride, s.c_stride}) {
      h = (h ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u;
    }
    return h ^ (h >> 32);
  }
};

}  // namespace

bool OneDnnHasAvx512() {
  constexpr auto kAvx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kAvx512) ==
         kAvx512;
}

void OneDnnProduct(const MatMulShape& shape, const float* a, const float* b,
                   const float* bias, float* c) {
  thread_local std::unordered_map<MatMulShape, Product, HashShape> products;
  auto found = products.find(shape);
  if (found == products.end()) found = products.emplace(shape, shape).first;
  found->second.Run(a, b, bias, c);
}

size_t OneDnnPackedSize(int64_t inner, int64_t cols) {
  return (PackedDescription(inner, cols).get_size() + 3) / sizeof(float);
}

void OneDnnPack(const float* b, int64_t inner, int64_t cols, int64_t stride,
                float* packed) {
  Memory from(Describe(inner, cols, stride, true), Engine(),
              const_cast<float*>(b));
  Memory to(PackedDescription(inner, cols), Engine(), packed);
  dnnl::reorder(from, to).execute(Stream(), from, to);
}

}  // namespace pipeformer
