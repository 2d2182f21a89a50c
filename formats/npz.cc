#include "formats/npz.h"

#include "formats/npy.h"
#include "formats/zip_reader.h"
#include "formats/zip_writer.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

std::vector<std::pair<std::string, OwnedTensor>> ParseNpz(
    std::span<const std::byte> bytes, std::string_view source_name) {
  const std::string_view archive(reinterpret_cast<const char*>(bytes.data()),
                                 bytes.size());
  std::vector<std::pair<std::string, OwnedTensor>> tensors;
  for (const ZipMember& member : ReadZip(archive, source_name)) {
    const std::string where =
        std::string(source_name) + ": member " + Quoted(member.name);
    if (!member.name.ends_with(kSuffix)) {
      ThrowBadData(where + " is no .npy file");
    }
    tensors.emplace_back(
        member.name.substr(0, member.name.size() - kSuffix.size()),
        ParseNpy(std::as_bytes(std::span(member.contents)), where));
  }
  return tensors;
}

void WriteNpz(const TensorCollection& collection, std::ostream& out) {
  ZipWriter writer(out);
  for (const auto& [name, tensor] : collection.tensors) {
    writer.Add(name + std::string(kSuffix), SerializeNpy(tensor, name));
  }
  writer.Finish();
}

}  // namespace pipeformer
