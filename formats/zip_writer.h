// Writes ZIP archives of stored members, for .npz.
// Source: PKWARE's APPNOTE.TXT, section 4.3.
#ifndef PIPEFORMER_FORMATS_ZIP_WRITER_H_
#define PIPEFORMER_FORMATS_ZIP_WRITER_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace pipeformer {

// Use: Add each member, then Finish. The bytes depend on names and contents
// alone; the date is always 1980-01-01.
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

#endif  // PIPEFORMER_FORMATS_ZIP_WRITER_H_
