#include "formats/tensor_file.h"

#include <algorithm>

#include "formats/mapped_file.h"
#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/output_file.h"
#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

bool IsAligned(const TensorView& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes.data());
  return address % DTypeBytes(tensor.dtype) == 0;
}

std::string NamesIn(const TensorCollection& collection) {
  constexpr size_t kMaxShown = 8;
  if (collection.tensors.empty()) return "there are no tensors";
  std::string text = "there are ";
  for (size_t i = 0; i < collection.tensors.size(); ++i) {
    if (i == kMaxShown) return text + ", ...";
    text += (i > 0 ? ", " : "") + Quoted(collection.tensors[i].name);
  }
  return text;
}

}  // namespace

TensorFile TensorFile::Open(const std::string& path) {
  TensorFile file(path);
  FileBytes mapped = MapFile(path);
  if (path.ends_with(".npy")) {
    file.AddOwned("array", ParseNpy(mapped.bytes, path));
    return file;
  }
  if (path.ends_with(".npz")) {
    for (auto& [name, tensor] : ParseNpz(mapped.bytes, path)) {
      file.AddOwned(std::move(name), std::move(tensor));
    }
    return file;
  }
  file.collection_ = ParseSafetensors(mapped.bytes, path);
  file.mapped_ = std::move(mapped);
  file.CopyUnaligned();
  return file;
}

void TensorFile::ForgetPages() const { pipeformer::ForgetPages(mapped_); }

TensorFile TensorFile::FromBytes(std::string bytes, std::string source_name) {
  TensorFile file(std::move(source_name));
  const auto buffer = std::make_shared<const std::string>(std::move(bytes));
  file.collection_ =
      ParseSafetensors(std::as_bytes(std::span(*buffer)), file.source_name_);
  file.owners_.push_back(buffer);
  file.CopyUnaligned();
  return file;
}

void TensorFile::AddOwned(std::string name, OwnedTensor tensor) {
  const auto owned = std::make_shared<const OwnedTensor>(std::move(tensor));
  collection_.Add(std::move(name), owned->View());
  owners_.push_back(owned);
}

void TensorFile::CopyUnaligned() {
  for (auto& [name, tensor] : collection_.tensors) {
    if (IsAligned(tensor)) continue;
    const auto copy = std::make_shared<const std::vector<std::byte>>(
        tensor.bytes.begin(), tensor.bytes.end());
    tensor.bytes = *copy;
    owners_.push_back(copy);
  }
}

void TensorFile::RequireFormat(const std::string& format,
                               const std::string& version,
                               const std::string& remedy) const {
  const auto& metadata = collection_.metadata;
  const auto said = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string("missing")
                                   : Quoted(found->second);
  };
  if (said("format") != Quoted(format)) {
    ThrowBadData(source_name_ + ": is no " + format +
                 ": metadata `format` is " + said("format") + "; " + remedy);
  }
  if (said("version") != Quoted(version)) {
    ThrowBadData(source_name_ + ": " + format + " of version " +
                 said("version") + ", this program reads version " + version +
                 "; " + remedy);
  }
}

const std::string& TensorFile::Metadata(const std::string& key) const {
  const auto found = collection_.metadata.find(key);
  if (found == collection_.metadata.end()) {
    ThrowBadData(source_name_ + ": metadata `" + key + "` are missing");
  }
  return found->second;
}

const TensorView& TensorFile::At(std::string_view name) const {
  const TensorView* tensor = collection_.Find(name);
  if (tensor == nullptr) {
    ThrowBadData(source_name_ + ": no tensor " + Quoted(name) + "; " +
                 NamesIn(collection_));
  }
  return *tensor;
}

const TensorView& TensorFile::At(std::string_view name, DType dtype,
                                 const std::vector<int64_t>& shape) const {
  const TensorView& tensor = At(name);
  const bool fits = std::ranges::equal(
      tensor.shape, shape,
      [](int64_t has, int64_t wants) { return wants == -1 || has == wants; });
  if (tensor.dtype != dtype || !fits) {
    ThrowBadData(source_name_ + ": tensor " + Quoted(name) + " is " +
                 std::string(DTypeName(tensor.dtype)) + " " +
                 ShapeText(tensor.shape) + ", wanted " +
                 std::string(DTypeName(dtype)) + " " + ShapeText(shape));
  }
  return tensor;
}

void WriteTensorFile(const TensorCollection& collection,
                     const std::string& path) {
  OutputFile file(path);
  if (path.ends_with(".npy")) {
    if (collection.tensors.size() != 1) {
      ThrowBadData(path + ": a .npy file holds one tensor, got " +
                   std::to_string(collection.tensors.size()) +
                   "; write .npz or .safetensors");
    }
    file.stream() << SerializeNpy(collection.tensors[0].tensor, path);
  } else if (path.ends_with(".npz")) {
    WriteNpz(collection, file.stream());
  } else {
    WriteSafetensors(collection, file.stream());
  }
  file.Commit();
}

}  // namespace pipeformer
