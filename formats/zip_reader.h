// Reads ZIP archives as far as .npz needs them: members stored or deflated,
// sizes beyond 4 GiB. Used by npz.cc alone.
// Source: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
#ifndef PIPEFORMER_FORMATS_ZIP_READER_H_
#define PIPEFORMER_FORMATS_ZIP_READER_H_

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

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_ZIP_READER_H_
