#include "formats/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <locale>
#include <optional>
#include <string_view>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 1 << 16;
constexpr char kUnfinished[] = ".unfinished-";

[[noreturn]] void Fail(ExitCode code, const std::string& path,
                       const std::string& what) {
  throw Error(code, path + ": " + what + ": " + std::strerror(errno));
}

// The descriptor that a name such as /dev/stdout or /dev/fd/63 stands for.
// Opening these by name again would lose the position of `>> file`.
std::optional<int> NamedDescriptor(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int fd = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    if (error == std::errc() && end == digits.data() + digits.size()) return fd;
  }
  return std::nullopt;
}

// Follows symbolic links, so that the file they name is replaced and not they.
std::string FollowLinks(const std::string& path) {
  constexpr int kMaxLinks = 40;  // the kernel's own limit
  fs::path target = path;
  std::error_code error;
  for (int i = 0; i < kMaxLinks && fs::is_symlink(target, error); ++i) {
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  return target.string();
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Gives a new file the permissions of the one it will replace.
void CopyPermissions(const std::string& from, int to) {
  struct stat facts;
  if (stat(from.c_str(), &facts) == 0) fchmod(to, facts.st_mode & 0777);
}

// Makes a rename durable. Some file systems cannot sync a folder; they say
// EINVAL, and nothing better can be done there.
void SyncFolder(const std::string& path) {
  const int fd = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return;  // a folder may be writable and not readable
  const bool failed = fsync(fd) != 0 && errno != EINVAL;
  const int reason = errno;
  close(fd);
  errno = reason;
  if (failed) Fail(ExitCode::kInputOutput, path, "cannot sync the folder");
}

// Locks a new temporary file, so that RemoveUnfinished leaves it alone. False
// where that came first, between creating and locking. A file system without
// locks never gives one, and nothing is ever removed there.
bool Hold(int fd) {
  struct stat facts;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return fstat(fd, &facts) != 0 || facts.st_nlink > 0;
}

// `.unfinished-PID-NUMBER`
bool IsUnfinished(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789";
  if (!name.starts_with(kUnfinished)) return false;
  const size_t pid = std::string_view(kUnfinished).size();
  const size_t dash = name.find_first_not_of(kDigits, pid);
  return dash != std::string::npos && dash > pid && name[dash] == '-' &&
         dash + 1 < name.size() &&
         name.find_first_not_of(kDigits, dash + 1) == std::string::npos;
}

}  // namespace

std::string NextUnfinishedName() {
  static std::atomic<int> num_named = 0;
  return kUnfinished + std::to_string(getpid()) + "-" +
         std::to_string(num_named++);
}

void RemoveUnfinished(const std::string& path) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(FolderOf(FollowLinks(path)), error)) {
    if (!IsUnfinished(entry.path().filename().string())) continue;
    const int fd =
        open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(entry.path().c_str());
    close(fd);
  }
}

DescriptorBuffer::DescriptorBuffer(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), buffer_(kBufferBytes) {
  setp(buffer_.data(), buffer_.data() + buffer_.size());
}

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type c) {
  sync();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int DescriptorBuffer::sync() {
  const char* next = pbase();
  while (next < pptr()) {
    const ssize_t written =
        write(fd_, next, static_cast<size_t>(pptr() - next));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // Someone made the pipe non-blocking; wait ourselves.
      pollfd request = {fd_, POLLOUT, 0};
      poll(&request, 1, -1);
      continue;
    }
    if (written < 0) Fail(ExitCode::kInputOutput, path_, "cannot write");
    next += written;
  }
  setp(buffer_.data(), buffer_.data() + buffer_.size());
  return 0;
}

OutputFile::OutputFile(const std::string& path)
    : target_(Open(path)), buffer_(target_.fd, path), stream_(&buffer_) {
  stream_.imbue(std::locale::classic());
  // Makes the stream pass on what the buffer throws.
  stream_.exceptions(std::ios::badbit);
}

OutputFile::~OutputFile() {
  if (target_.fd >= 0) close(target_.fd);
  if (!target_.temporary.empty()) unlink(target_.temporary.c_str());
}

OutputFile::Target OutputFile::Open(const std::string& path) {
  if (const std::optional<int> named = NamedDescriptor(path)) {
    const int fd = fcntl(*named, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) Fail(ExitCode::kCannotCreate, path, "cannot write");
    return {fd, path, ""};
  }
  const std::string followed = FollowLinks(path);
  struct stat facts;
  if (stat(followed.c_str(), &facts) != 0) return OpenTemporary(followed);
  if (!S_ISREG(facts.st_mode)) {
    const int fd = open(followed.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) Fail(ExitCode::kCannotCreate, path, "cannot open for writing");
    return {fd, followed, ""};
  }
  if (access(followed.c_str(), W_OK) != 0) {
    Fail(ExitCode::kCannotCreate, path, "cannot replace");
  }
  return OpenTemporary(followed);
}

OutputFile::Target OutputFile::OpenTemporary(const std::string& path) {
  while (true) {
    const std::string temporary =
        (fs::path(path).parent_path() / NextUnfinishedName()).string();
    const int fd =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) Fail(ExitCode::kCannotCreate, path, "cannot create");
    if (!Hold(fd)) {
      close(fd);
      continue;
    }
    CopyPermissions(path, fd);
    return {fd, path, temporary};
  }
}

void OutputFile::Commit() {
  Check(target_.fd >= 0, "an output file is committed twice");
  stream_.flush();
  const bool direct = target_.temporary.empty();
  if (!direct && fsync(target_.fd) != 0) {
    Fail(ExitCode::kInputOutput, target_.path, "cannot write to the disk");
  }
  // Renamed before it is closed, which ends the lock of RemoveUnfinished.
  if (!direct && rename(target_.temporary.c_str(), target_.path.c_str()) != 0) {
    Fail(ExitCode::kInputOutput, target_.path, "cannot replace");
  }
  target_.temporary.clear();
  const int closed = close(target_.fd);
  target_.fd = -1;
  if (closed != 0) Fail(ExitCode::kInputOutput, target_.path, "cannot write");
  if (!direct) SyncFolder(target_.path);
}

}  // namespace pipeformer
