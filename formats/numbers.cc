#include "formats/numbers.h"

#include <charconv>
#include <cmath>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

template <class Real>
std::string Shortest(Real value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace

std::string NumberText(double value) { return Shortest(value); }

std::string NumberText(float value) { return Shortest(value); }

void AppendNumber(float value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  char digits[32];
  text.append(digits,
              std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

double ParseDouble(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) {
    ThrowBadData("'" + std::string(text) + "' is no number");
  }
  return value;
}

nlohmann::ordered_json NumberList(std::span<const float> values) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const float value : values) {
    list.push_back(std::isfinite(value)
                       ? nlohmann::ordered_json(ParseDouble(Shortest(value)))
                       : nlohmann::ordered_json());
  }
  return list;
}

}  // namespace pipeformer
