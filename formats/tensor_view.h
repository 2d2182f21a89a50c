// Tensors as files hold them: a type, a shape and row-major little-endian
// bytes under a name. Every tensor format of this folder reads into and writes
// from these types.
#ifndef PIPEFORMER_FORMATS_TENSOR_VIEW_H_
#define PIPEFORMER_FORMATS_TENSOR_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pipeformer {

enum class DType : uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,
};

// The name safetensors gives the type ("F32", "BOOL").
std::string_view DTypeName(DType dtype);

// The type of that name, or nothing.
std::optional<DType> DTypeNamed(std::string_view name);

// Bytes of one element: 1, 2, 4 or 8.
size_t DTypeBytes(DType dtype);

// The type of a C++ number: DTypeOf<float>() is kF32.
template <class T>
constexpr DType DTypeOf() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
  constexpr bool kSigned = std::is_signed_v<T>;
  if (std::is_floating_point_v<T>) {
    return sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  }
  if (std::is_same_v<T, bool>) return DType::kBool;
  if (sizeof(T) == 1) return kSigned ? DType::kI8 : DType::kU8;
  if (sizeof(T) == 2) return kSigned ? DType::kI16 : DType::kU16;
  if (sizeof(T) == 4) return kSigned ? DType::kI32 : DType::kU32;
  return kSigned ? DType::kI64 : DType::kU64;
}

// A tensor in somebody else's memory. Shape [] is a scalar of one element; a
// zero in the shape makes a tensor without elements.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;

  // The elements in row-major order. Requires: T is the type of `dtype` and
  // the bytes are aligned for it, as those of every TensorFile are.
  template <class T>
  std::span<const T> Elements() const;

  size_t NumElements() const { return bytes.size() / DTypeBytes(dtype); }
};

// A view of `elements`, which must outlive it.
template <class T>
TensorView ViewOf(std::span<T> elements, std::vector<int64_t> shape) {
  return {DTypeOf<std::remove_const_t<T>>(), std::move(shape),
          std::as_bytes(elements)};
}

// A tensor with memory of its own, aligned for any type.
struct OwnedTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  TensorView View() const { return {dtype, shape, bytes}; }
};

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

// Named tensors in the order of their data, with text beside them.
struct TensorCollection {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;

  // The tensor of that name, or null.
  const TensorView* Find(std::string_view name) const;

  void Add(std::string name, TensorView tensor) {
    tensors.push_back({std::move(name), std::move(tensor)});
  }
};

// Bytes of a tensor: the product of the dimensions times the size of one
// element; nothing if a dimension is negative or the product passes 2^63 - 1.
std::optional<size_t> TensorBytes(DType dtype, std::span<const int64_t> shape);

// The elements of a floating-point tensor (F32, F64, F16, BF16) as floats,
// whatever their alignment. F64 is rounded to nearest. Throws bad data that
// begins with `name` for any other type.
std::vector<float> ToFloats(const TensorView& tensor, std::string_view name);

// "[2, 3]", for messages.
std::string ShapeText(std::span<const int64_t> shape);

// `name` as messages show it: quoted, control bytes and non-ASCII bytes as
// \xNN, at most 80 bytes of it.
std::string Quoted(std::string_view name);

namespace internal {
void CheckElements(const TensorView& tensor, DType wanted);
}  // namespace internal

template <class T>
std::span<const T> TensorView::Elements() const {
  internal::CheckElements(*this, DTypeOf<T>());
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_TENSOR_VIEW_H_
