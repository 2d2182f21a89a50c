// Errors. Bad input, a missing file, a full disk: throw `Error` with a message
// that says what failed, where (`file:line`), which value broke which limit,
// and what to do. A contract broken by our own caller: `Check`.
#ifndef PIPEFORMER_LIB_BASE_ERROR_H_
#define PIPEFORMER_LIB_BASE_ERROR_H_

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pipeformer {

// What a failed program tells its caller: the exit codes of sysexits.h.
enum class ExitCode {
  kDone = 0,
  kSomeRecordsBad = 1,
  kUsage = 64,
  kBadData = 65,
  kInputMissing = 66,
  kInternalFault = 70,
  kCannotCreate = 73,
  kInputOutput = 74,
};

// A failure a user can act on. Caught in tool_main alone, or by a reader that
// turns a bad record into an error record.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}

  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Bad data or a bad model, the most frequent kind (exit code 65).
[[noreturn]] void ThrowBadData(const std::string& message);

// Wrong options (exit code 64).
[[noreturn]] void ThrowUsage(const std::string& message);

// Throws std::logic_error (exit code 70) naming the caller's file and line
// when `condition` is false. For contracts between our own functions only.
void Check(bool condition, std::string_view message,
           std::source_location where = std::source_location::current());

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_ERROR_H_
