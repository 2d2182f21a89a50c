// Tensors of a file or a buffer, ready for use: the bytes behind them stay
// mapped or in memory for as long as this object or a copy of it lives.
#ifndef PIPEFORMER_FORMATS_TENSOR_FILE_H_
#define PIPEFORMER_FORMATS_TENSOR_FILE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mapped_file.h"
#include "formats/tensor_view.h"

namespace pipeformer {

// Copies share the bytes. Every tensor is aligned for its type: one that is
// not where it lies in the file (the format allows that) is copied.
class TensorFile {
 public:
  // Opens a file by the end of its name: `.npy` holds one tensor, named
  // `array`, `.npz` several; anything else is safetensors. Throws
  // kInputMissing, kInputOutput (see MapFile) or kBadData, naming the path.
  static TensorFile Open(const std::string& path);

  // Reads safetensors bytes that a stream or a test holds. `source_name`
  // begins every message. Throws kBadData.
  static TensorFile FromBytes(std::string bytes, std::string source_name);

  // Where the tensors came from, for messages.
  const std::string& source_name() const { return source_name_; }

  const TensorCollection& collection() const { return collection_; }

  // Throws kBadData with `remedy` unless the metadata `format` and `version`
  // are these.
  void RequireFormat(const std::string& format, const std::string& version,
                     const std::string& remedy) const;

  // The metadata under `key`. Throws kBadData naming the file and the key.
  const std::string& Metadata(const std::string& key) const;

  // The tensor of that name. Throws kBadData naming the file, the tensor and
  // the names there are.
  const TensorView& At(std::string_view name) const;

  // The same, checked: of this type, and of this shape where -1 stands for
  // any dimension. Throws kBadData with both shapes.
  const TensorView& At(std::string_view name, DType dtype,
                       const std::vector<int64_t>& shape) const;

  // Lets the memory go that the file's pages take, until they are read again.
  void ForgetPages() const;

 private:
  explicit TensorFile(std::string source_name)
      : source_name_(std::move(source_name)) {}

  void AddOwned(std::string name, OwnedTensor tensor);
  void CopyUnaligned();

  std::string source_name_;
  TensorCollection collection_;
  std::vector<std::shared_ptr<const void>> owners_;
  FileBytes mapped_;  // where it was opened, and is not compressed
};

// Writes `collection` to `path`, whole or not at all, in the format that Open
// would take it for. Only safetensors keep the metadata; `.npy` takes exactly
// one tensor and no name. Throws kBadData beginning with the path when the
// format cannot hold the tensors, else what OutputFile throws.
void WriteTensorFile(const TensorCollection& collection,
                     const std::string& path);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_TENSOR_FILE_H_
