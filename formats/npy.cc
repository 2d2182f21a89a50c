#include "formats/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "formats/little_endian.h"
#include "formats/npy_header.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionEnd = 8;  // the magic and two bytes of version
constexpr size_t kDataAlignment = 64;
constexpr size_t kMaxDimensions = 64;  // NumPy's own limit from version 2 on

// NumPy's type codes: kind and bytes of an element.
constexpr std::array<std::pair<std::string_view, DType>, 12> kCodes = {{
    {"f4", DType::kF32},
    {"f8", DType::kF64},
    {"f2", DType::kF16},
    {"i1", DType::kI8},
    {"u1", DType::kU8},
    {"i2", DType::kI16},
    {"u2", DType::kU16},
    {"i4", DType::kI32},
    {"u4", DType::kU32},
    {"i8", DType::kI64},
    {"u8", DType::kU64},
    {"b1", DType::kBool},
}};

[[noreturn]] void Fail(std::string_view source_name,
                       const std::string& message) {
  ThrowBadData(std::string(source_name) + ": " + message);
}

// The type that `descr` names; its first byte is the byte order.
DType TypeOf(const std::string& descr, std::string_view source_name) {
  if (descr.find('O') != std::string::npos) {
    Fail(source_name,
         "type '" + descr +
             "' holds pickled Python objects, which are never read; save the "
             "array as numbers");
  }
  const bool has_order =
      !descr.empty() &&
      std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view code = std::string_view(descr).substr(has_order);
  for (const auto& [known, dtype] : kCodes) {
    if (known == code) return dtype;
  }
  Fail(source_name, "type " + Quoted(descr) +
                        " is not read; known are f2 f4 f8 i1 i2 i4 i8 u1 u2 "
                        "u4 u8 b1");
}

// Splits the file into its header's text and its data.
std::pair<std::string_view, std::string_view> Split(
    std::string_view file, std::string_view source_name) {
  if (file.size() < kVersionEnd || !file.starts_with(kMagic)) {
    Fail(source_name, "does not begin with \\x93NUMPY; this is no .npy file");
  }
  const int version = file[kMagic.size()];
  if (version < 1 || version > 3) {
    Fail(source_name, "version " + std::to_string(version) +
                          " of the format, known are 1 to 3");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const std::string_view rest = file.substr(kVersionEnd);
  if (rest.size() < length_bytes) Fail(source_name, "the header is cut off");
  const size_t length = version == 1 ? LoadLittleEndian<uint16_t>(rest)
                                     : LoadLittleEndian<uint32_t>(rest);
  const size_t available = rest.size() - length_bytes;
  if (length > available) {
    Fail(source_name, "a header of " + std::to_string(length) +
                          " bytes, but only " + std::to_string(available) +
                          " follow; the file is truncated");
  }
  return {rest.substr(length_bytes, length),
          rest.substr(length_bytes + length)};
}

void ReverseElements(size_t element_bytes, std::vector<std::byte>& bytes) {
  for (size_t i = 0; i + element_bytes <= bytes.size(); i += element_bytes) {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(i);
    std::reverse(begin, begin + static_cast<std::ptrdiff_t>(element_bytes));
  }
}

// Brings column-major elements into row-major order: walks the result and
// keeps the position of the same element in the source.
void ToRowMajor(OwnedTensor& tensor) {
  const std::vector<std::byte> source = std::move(tensor.bytes);
  tensor.bytes.resize(source.size());
  const size_t element_bytes = DTypeBytes(tensor.dtype);
  const size_t rank = tensor.shape.size();
  std::vector<size_t> stride(rank);  // in the source, in bytes
  size_t next_stride = element_bytes;
  for (size_t i = 0; i < rank; ++i) {
    stride[i] = next_stride;
    next_stride *= static_cast<size_t>(tensor.shape[i]);
  }
  std::vector<int64_t> index(rank);
  size_t from = 0;
  for (size_t to = 0; to < source.size(); to += element_bytes) {
    std::memcpy(tensor.bytes.data() + to, source.data() + from, element_bytes);
    for (size_t i = rank; i-- > 0;) {
      from += stride[i];
      if (++index[i] < tensor.shape[i]) break;
      from -= stride[i] * static_cast<size_t>(tensor.shape[i]);
      index[i] = 0;
    }
  }
}

std::string Descr(DType dtype, std::string_view name) {
  for (const auto& [code, known] : kCodes) {
    if (known != dtype) continue;
    std::string descr(1, DTypeBytes(dtype) == 1 ? '|' : '<');
    return descr.append(code);
  }
  Fail(name, std::string("NumPy has no type ") + std::string(DTypeName(dtype)) +
                 "; write safetensors");
}

}  // namespace

OwnedTensor ParseNpy(std::span<const std::byte> bytes,
                     std::string_view source_name) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()),
                              bytes.size());
  const auto [text, data] = Split(file, source_name);
  const NpyHeader header = ParseNpyHeader(text, source_name);
  if (header.shape.size() > kMaxDimensions) {
    Fail(source_name, std::to_string(header.shape.size()) +
                          " dimensions, the limit is " +
                          std::to_string(kMaxDimensions));
  }
  OwnedTensor tensor = {TypeOf(header.descr, source_name), header.shape, {}};
  const std::string type = header.descr + " " + ShapeText(header.shape);
  const std::optional<size_t> wanted = TensorBytes(tensor.dtype, tensor.shape);
  if (!wanted) Fail(source_name, type + " has more than 2^63 bytes");
  if (*wanted != data.size()) {
    Fail(source_name, type + " needs " + std::to_string(*wanted) +
                          " bytes, but " + std::to_string(data.size()) +
                          " follow the header");
  }
  const auto payload = bytes.last(data.size());
  tensor.bytes.assign(payload.begin(), payload.end());
  if (header.descr[0] == '>') {
    ReverseElements(DTypeBytes(tensor.dtype), tensor.bytes);
  }
  if (header.fortran_order) ToRowMajor(tensor);
  return tensor;
}

std::string SerializeNpy(const TensorView& tensor, std::string_view name) {
  Check(TensorBytes(tensor.dtype, tensor.shape) == tensor.bytes.size(),
        "a tensor's bytes disagree with its shape");
  std::string text =
      NpyHeaderText({Descr(tensor.dtype, name), false, tensor.shape});
  const size_t used = (kVersionEnd + 2 + text.size() + 1) % kDataAlignment;
  text.append((kDataAlignment - used) % kDataAlignment, ' ');
  text += '\n';
  Check(text.size() <= 0xffff, "a .npy header passes 65535 bytes");
  std::string file(kMagic);
  file += {'\x01', '\x00'};
  AppendLittleEndian<uint16_t>(static_cast<uint16_t>(text.size()), file);
  file += text;
  file.append(reinterpret_cast<const char*>(tensor.bytes.data()),
              tensor.bytes.size());
  return file;
}

}  // namespace pipeformer
