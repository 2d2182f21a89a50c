#include "formats/zip_reader.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/filter/zlib.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <unordered_set>

#include "formats/little_endian.h"
#include "formats/tensor_view.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kDirectoryBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr uint32_t kSeeZip64 = 0xffffffff;  // the value stands elsewhere
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;

uint32_t Crc32(std::string_view bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

// One row of the directory at the end of the archive.
struct DirectoryEntry {
  std::string name;
  uint16_t flags;
  uint16_t method;
  uint32_t crc;
  uint64_t packed_bytes;
  uint64_t bytes;
  uint64_t local_offset;
};

struct Directory {
  uint64_t num_entries;
  uint64_t offset;
};

class ZipReader {
 public:
  ZipReader(std::string_view bytes, std::string_view source_name)
      : bytes_(bytes), source_name_(source_name) {}

  std::vector<ZipMember> Read() {
    const Directory directory = FindDirectory();
    uint64_t at = directory.offset;
    std::unordered_set<std::string> names;
    std::vector<ZipMember> members;
    for (uint64_t i = 0; i < directory.num_entries; ++i) {
      const DirectoryEntry entry = ReadEntry(at);
      if (!names.insert(entry.name).second) Fail(entry, "occurs twice");
      members.push_back({entry.name, Unpack(entry)});
    }
    return members;
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    ThrowBadData(std::string(source_name_) + ": " + message);
  }
  [[noreturn]] void Fail(const DirectoryEntry& entry,
                         const std::string& message) const {
    Fail("member " + Quoted(entry.name) + ": " + message);
  }

  // The bytes [offset, offset + size), which must exist.
  std::string_view Slice(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      Fail("the archive is damaged: it refers to bytes " +
           std::to_string(offset) + " and on, beyond its end at " +
           std::to_string(bytes_.size()));
    }
    return bytes_.substr(offset, size);
  }

  // A record of `size` bytes that must begin with `signature`.
  std::string_view Record(uint64_t offset, uint64_t size,
                          uint32_t signature) const {
    const std::string_view record = Slice(offset, size);
    if (LoadLittleEndian<uint32_t>(record) != signature) {
      Fail("the archive is damaged: no record at byte " +
           std::to_string(offset));
    }
    return record;
  }

  Directory FindDirectory() const;
  DirectoryEntry ReadEntry(uint64_t& at) const;
  void ReadZip64Field(std::string_view extra, DirectoryEntry& entry) const;
  std::string Unpack(const DirectoryEntry& entry) const;
  std::string Inflate(const DirectoryEntry& entry,
                      std::string_view packed) const;

  std::string_view bytes_;
  std::string_view source_name_;
};

// Searches the end record backwards: a comment of up to 65535 bytes follows.
Directory ZipReader::FindDirectory() const {
  constexpr size_t kMaxComment = 0xffff;
  for (size_t comment = 0; comment <= kMaxComment; ++comment) {
    if (bytes_.size() < kEndBytes + comment) break;
    const size_t at = bytes_.size() - kEndBytes - comment;
    const std::string_view end = bytes_.substr(at, kEndBytes);
    if (LoadLittleEndian<uint32_t>(end) != kEndSignature) continue;
    if (LoadLittleEndian<uint16_t>(end.substr(20)) != comment) continue;
    const auto num_entries = LoadLittleEndian<uint16_t>(end.substr(10));
    const auto offset = LoadLittleEndian<uint32_t>(end.substr(16));
    if (num_entries != 0xffff && offset != kSeeZip64) {
      return {num_entries, offset};
    }
    if (at < kLocator64Bytes) break;
    const std::string_view locator =
        Record(at - kLocator64Bytes, kLocator64Bytes, kLocator64Signature);
    const std::string_view end64 =
        Record(LoadLittleEndian<uint64_t>(locator.substr(8)), kEnd64Bytes,
               kEnd64Signature);
    return {LoadLittleEndian<uint64_t>(end64.substr(32)),
            LoadLittleEndian<uint64_t>(end64.substr(48))};
  }
  Fail("no directory at the end; this is no .npz file, or it is truncated");
}

// Reads the entry at `at` and moves `at` behind it.
DirectoryEntry ZipReader::ReadEntry(uint64_t& at) const {
  const std::string_view fixed =
      Record(at, kDirectoryBytes, kDirectorySignature);
  const auto half = [&fixed](size_t i) {
    return LoadLittleEndian<uint16_t>(fixed.substr(i));
  };
  const auto word = [&fixed](size_t i) {
    return LoadLittleEndian<uint32_t>(fixed.substr(i));
  };
  const size_t name_bytes = half(28), extra_bytes = half(30);
  const std::string_view tail =
      Slice(at + kDirectoryBytes, name_bytes + extra_bytes);
  DirectoryEntry entry = {.name = std::string(tail.substr(0, name_bytes)),
                          .flags = half(8),
                          .method = half(10),
                          .crc = word(16),
                          .packed_bytes = word(20),
                          .bytes = word(24),
                          .local_offset = word(42)};
  ReadZip64Field(tail.substr(name_bytes), entry);
  at += kDirectoryBytes + name_bytes + extra_bytes + half(32);
  return entry;
}

// Extra field 1 holds, in this order, those values that did not fit.
void ZipReader::ReadZip64Field(std::string_view extra,
                               DirectoryEntry& entry) const {
  while (extra.size() >= 4) {
    const auto id = LoadLittleEndian<uint16_t>(extra);
    const size_t size = LoadLittleEndian<uint16_t>(extra.substr(2));
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(std::min(extra.size(), 4 + size));
    if (id != 1) continue;
    for (uint64_t* value :
         {&entry.bytes, &entry.packed_bytes, &entry.local_offset}) {
      if (*value != kSeeZip64) continue;
      if (field.size() < 8) Fail(entry, "its 64-bit sizes are cut off");
      *value = LoadLittleEndian<uint64_t>(field);
      field.remove_prefix(8);
    }
  }
}

std::string ZipReader::Unpack(const DirectoryEntry& entry) const {
  if (entry.flags & kEncrypted) Fail(entry, "is encrypted");
  const std::string_view local =
      Record(entry.local_offset, kLocalBytes, kLocalSignature);
  const size_t skipped = kLocalBytes +
                         LoadLittleEndian<uint16_t>(local.substr(26)) +
                         LoadLittleEndian<uint16_t>(local.substr(28));
  const std::string_view packed =
      Slice(entry.local_offset + skipped, entry.packed_bytes);
  std::string contents;
  if (entry.method == kStored) {
    contents = packed;
  } else if (entry.method == kDeflated) {
    contents = Inflate(entry, packed);
  } else {
    Fail(entry, "method " + std::to_string(entry.method) +
                    ", known are 0 (stored) and 8 (deflated)");
  }
  if (contents.size() != entry.bytes) {
    Fail(entry, "has " + std::to_string(contents.size()) +
                    " bytes, the directory says " +
                    std::to_string(entry.bytes));
  }
  if (Crc32(contents) != entry.crc) Fail(entry, "wrong checksum, damaged");
  return contents;
}

// Stops one byte after what the directory promises, so that a small archive
// cannot fill the memory.
std::string ZipReader::Inflate(const DirectoryEntry& entry,
                               std::string_view packed) const {
  namespace io = boost::iostreams;
  constexpr uint64_t kChunkBytes = 1 << 20;
  io::zlib_params raw;
  raw.noheader = true;
  io::filtering_istream in;
  in.push(io::zlib_decompressor(raw));
  in.push(io::array_source(packed.data(), packed.size()));
  std::string contents;
  while (in && contents.size() <= entry.bytes) {
    const size_t used = contents.size();
    const uint64_t missing = entry.bytes - used;
    contents.resize(used + (missing < kChunkBytes ? missing + 1 : kChunkBytes));
    in.read(contents.data() + used,
            static_cast<std::streamsize>(contents.size() - used));
    contents.resize(used + static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) Fail(entry, "its deflated data are damaged");
  return contents;
}

}  // namespace

std::vector<ZipMember> ReadZip(std::string_view bytes,
                               std::string_view source_name) {
  return ZipReader(bytes, source_name).Read();
}

}  // namespace pipeformer
