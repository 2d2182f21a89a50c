#include "formats/zip_writer.h"

#include <algorithm>
#include <boost/crc.hpp>

#include "formats/little_endian.h"
#include "formats/tensor_view.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr size_t kDirectoryBytes = 46;
constexpr uint64_t kMaxArchiveBytes = 0xfffffffe;
constexpr uint64_t kMaxMembers = 0xfffe;
constexpr uint16_t kUtf8Name = 1 << 11;
constexpr uint16_t kStored = 0;

uint32_t Crc32(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// What a member's local header and its row of the directory have in common.
std::string MemberFacts(const std::string& name, std::string_view contents) {
  constexpr uint16_t kVersion = 20;     // 2.0
  constexpr uint32_t kDate = 0x210000;  // 1980-01-01, midnight
  const bool ascii = std::ranges::all_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 128; });
  const auto size = static_cast<uint32_t>(contents.size());
  std::string facts;
  AppendLittleEndian<uint16_t>(kVersion, facts);
  AppendLittleEndian<uint16_t>(ascii ? 0 : kUtf8Name, facts);
  AppendLittleEndian<uint16_t>(kStored, facts);
  AppendLittleEndian<uint32_t>(kDate, facts);
  AppendLittleEndian<uint32_t>(Crc32(contents), facts);
  AppendLittleEndian<uint32_t>(size, facts);  // packed
  AppendLittleEndian<uint32_t>(size, facts);
  AppendLittleEndian<uint16_t>(static_cast<uint16_t>(name.size()), facts);
  AppendLittleEndian<uint16_t>(0, facts);  // extra field
  return facts;
}

}  // namespace

void ZipWriter::Write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  written_bytes_ += bytes.size();
}

void ZipWriter::Add(const std::string& name, std::string_view contents) {
  Check(name.size() <= 0xffff, "a member's name passes 65535 bytes");
  // Both headers of this member, with room to spare.
  const size_t headers = 2 * (name.size() + kDirectoryBytes);
  if (written_bytes_ + contents.size() + directory_.size() + headers >
          kMaxArchiveBytes ||
      num_members_ >= kMaxMembers) {
    ThrowBadData("member " + Quoted(name) +
                 ": the archive would pass 4 GiB or 65534 members; write "
                 "safetensors");
  }
  const std::string facts = MemberFacts(name, contents);
  AppendLittleEndian<uint32_t>(kDirectorySignature, directory_);
  AppendLittleEndian<uint16_t>(0, directory_);  // made by: MS-DOS, no modes
  directory_ += facts;
  directory_.append(10, '\0');  // comment, disk, attributes
  AppendLittleEndian<uint32_t>(static_cast<uint32_t>(written_bytes_),
                               directory_);
  directory_ += name;
  ++num_members_;

  std::string local;
  AppendLittleEndian<uint32_t>(kLocalSignature, local);
  Write(local + facts + name);
  Write(contents);
}

void ZipWriter::Finish() {
  std::string end;
  AppendLittleEndian<uint32_t>(kEndSignature, end);
  AppendLittleEndian<uint32_t>(0, end);  // disks
  AppendLittleEndian<uint16_t>(static_cast<uint16_t>(num_members_), end);
  AppendLittleEndian<uint16_t>(static_cast<uint16_t>(num_members_), end);
  AppendLittleEndian<uint32_t>(static_cast<uint32_t>(directory_.size()), end);
  AppendLittleEndian<uint32_t>(static_cast<uint32_t>(written_bytes_), end);
  AppendLittleEndian<uint16_t>(0, end);  // comment
  Write(directory_ + end);
}

}  // namespace pipeformer
