#include "lib/metrics/metric.h"

#include <array>
#include <charconv>
#include <system_error>

#include "lib/base/error.h"

namespace pipeformer {

std::string FormatSignature(const Signature& signature) {
  std::string text;
  for (const auto& [key, value] : signature) {
    if (!text.empty()) text += '|';
    text += key + ':' + value;
  }
  return text;
}

std::string FormatFixed(double value, int num_decimals) {
  std::array<char, 512> buffer;
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::fixed, num_decimals);
  Check(error == std::errc(), "a score with its decimals fits 512 digits");
  return std::string(buffer.data(), end);
}

}  // namespace pipeformer
