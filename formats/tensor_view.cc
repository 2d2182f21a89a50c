#include "formats/tensor_view.h"

#include <array>
#include <bit>
#include <cstring>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

struct DTypeFacts {
  std::string_view name;
  size_t bytes;
};

// In the order of the enumeration.
constexpr std::array<DTypeFacts, 13> kDTypes = {{{"F32", 4},
                                                 {"F64", 8},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I8", 1},
                                                 {"U8", 1},
                                                 {"I16", 2},
                                                 {"U16", 2},
                                                 {"I32", 4},
                                                 {"U32", 4},
                                                 {"I64", 8},
                                                 {"U64", 8},
                                                 {"BOOL", 1}}};

template <class T>
T Load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// IEEE 754 binary16: one sign bit, five of exponent, ten of fraction.
float FromHalf(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t fraction = half & 1023;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact
    const float magnitude = static_cast<float>(fraction) * 0x1.0p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide_exponent = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

float LoadFloat(DType dtype, const std::byte* bytes) {
  switch (dtype) {
    case DType::kF32:
      return Load<float>(bytes);
    case DType::kF64:
      return static_cast<float>(Load<double>(bytes));
    case DType::kF16:
      return FromHalf(Load<uint16_t>(bytes));
    default:  // BF16 is the upper half of a float
      return std::bit_cast<float>(uint32_t{Load<uint16_t>(bytes)} << 16);
  }
}

}  // namespace

std::string_view DTypeName(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].name;
}

std::optional<DType> DTypeNamed(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t DTypeBytes(DType dtype) {
  return kDTypes[static_cast<size_t>(dtype)].bytes;
}

const TensorView* TensorCollection::Find(std::string_view name) const {
  for (const NamedTensor& named : tensors) {
    if (named.name == name) return &named.tensor;
  }
  return nullptr;
}

std::optional<size_t> TensorBytes(DType dtype, std::span<const int64_t> shape) {
  int64_t bytes = static_cast<int64_t>(DTypeBytes(dtype));
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, dimension, &bytes)) {
      return std::nullopt;
    }
  }
  return static_cast<size_t>(bytes);
}

std::vector<float> ToFloats(const TensorView& tensor, std::string_view name) {
  const DType dtype = tensor.dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && dtype != DType::kF16 &&
      dtype != DType::kBF16) {
    ThrowBadData(std::string(name) + ": the type is " +
                 std::string(DTypeName(dtype)) +
                 ", wanted F32, F64, F16 or BF16");
  }
  std::vector<float> floats(tensor.NumElements());
  for (size_t i = 0; i < floats.size(); ++i) {
    floats[i] = LoadFloat(dtype, tensor.bytes.data() + i * DTypeBytes(dtype));
  }
  return floats;
}

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(dimension);
  }
  return text + "]";
}

std::string Quoted(std::string_view name) {
  constexpr size_t kMaxShown = 80;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "'";
  for (const char c : name.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 32 && byte < 127) {
      text += c;
    } else {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return text + (name.size() > kMaxShown ? "...'" : "'");
}

namespace internal {

void CheckElements(const TensorView& tensor, DType wanted) {
  Check(tensor.dtype == wanted, "a tensor is read as another type");
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes.data());
  Check(address % DTypeBytes(wanted) == 0, "a tensor is not aligned");
}

}  // namespace internal
}  // namespace pipeformer
