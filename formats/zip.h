// ZIP archives, as far as .npz needs them: members stored or deflated, sizes
// beyond 4 GiB when reading. Used by npz.cc alone.
// Source: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
#ifndef PIPEFORMER_FORMATS_ZIP_H_
#define PIPEFORMER_FORMATS_ZIP_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace pipeformer {

struct ZipMember {
  std::string name;
  std::string contents;
};

// The members of the archive `bytes`, unpacked, in the order of its
// directory. Throws bad data beginning with `source_name` for a damaged or
// truncated archive, encrypted members, methods other than stored and
// deflated, wrong checksums, two members of one name.
std::vector<ZipMember> ReadZip(std::string_view bytes,
                               std::string_view source_name);

// Writes an archive of stored members: Add each, then Finish. The bytes
// depend on names and contents alone; the date is always 1980-01-01.
class ZipWriter {
 public:
  // Requires: `out` outlives this; nothing else writes to it meanwhile.
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  // Throws bad data when the archive would pass 4 GiB or 65534 members.
  void Add(const std::string& name, std::string_view contents);
  void Finish();

 private:
  void Write(std::string_view bytes);

  std::ostream& out_;
  std::string directory_;
  uint64_t num_members_ = 0;
  uint64_t written_bytes_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_ZIP_H_
