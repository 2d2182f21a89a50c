// Bytes that may be more than memory holds: written one after another to a
// temporary file, then read where it is mapped. The file has no name, so that
// nothing of it stays however the program ends.
#ifndef PIPEFORMER_FORMATS_SPILL_FILE_H_
#define PIPEFORMER_FORMATS_SPILL_FILE_H_

#include <cstddef>
#include <ostream>
#include <span>
#include <string>

#include "formats/mapped_file.h"
#include "formats/output_file.h"

namespace pipeformer {

class SpillFile {
 public:
  // Makes the file in the folder of `neighbour`, the output that will hold
  // the bytes in the end: there is room for them where that goes. In the
  // system's folder for temporary files where that folder takes none.
  // Throws kCannotCreate.
  explicit SpillFile(const std::string& neighbour);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Appends. Throws kInputOutput as a full disk does.
  void Write(std::span<const std::byte> bytes);

  // All that was written. Throws kInputOutput.
  FileBytes Map();

 private:
  std::string folder_;
  int fd_;
  DescriptorBuffer buffer_;
  std::ostream stream_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_SPILL_FILE_H_
