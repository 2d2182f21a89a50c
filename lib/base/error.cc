#include "lib/base/error.h"

namespace pipeformer {

void ThrowBadData(const std::string& message) {
  throw Error(ExitCode::kBadData, message);
}

void ThrowUsage(const std::string& message) {
  throw Error(ExitCode::kUsage, message);
}

void Check(bool condition, std::string_view message,
           std::source_location where) {
  if (condition) return;
  throw std::logic_error(std::string(where.file_name()) + ":" +
                         std::to_string(where.line()) + ": " +
                         std::string(message));
}

}  // namespace pipeformer
