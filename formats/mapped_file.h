// A file's bytes in memory without reading them: weights and packed corpora
// are mapped, so that starting is instant and processes share the pages.
#ifndef PIPEFORMER_FORMATS_MAPPED_FILE_H_
#define PIPEFORMER_FORMATS_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pipeformer {

// The bytes and what keeps them alive.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool is_mapped = false;  // not read to its end
};

// Maps a regular file read-only; reads anything else (a pipe, `<(command)`)
// to its end. The bytes begin at an address aligned for any type.
// Requires: nobody shortens the file while it is mapped; our own writers
// never do, they replace it by another.
// Throws kInputMissing when the file cannot be opened, kInputOutput when it
// cannot be read; both name the path and the system's reason.
FileBytes MapFile(const std::string& path);

// The same for an open descriptor, which may be closed afterwards; `path`
// begins the messages.
FileBytes MapDescriptor(int fd, const std::string& path);

// Lets the pages of mapped bytes go: they come back from the file when they are
// read again. Does nothing to bytes that are not mapped.
void ForgetPages(const FileBytes& file);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MAPPED_FILE_H_
