// Numbers as text: always with a dot, whatever the locale, and with the fewest
// digits that read back as the same number.
#ifndef PIPEFORMER_FORMATS_NUMBERS_H_
#define PIPEFORMER_FORMATS_NUMBERS_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace pipeformer {

std::string NumberText(double value);
std::string NumberText(float value);

// Appends `value` as JSON: its digits, or null for what is not finite.
void AppendNumber(float value, std::string& text);

// The number that `text` is. Throws Error (65) when it is none.
double ParseDouble(std::string_view text);

// Single-precision numbers for JSON, which would otherwise show the digits of
// their double-precision neighbours.
nlohmann::ordered_json NumberList(std::span<const float> values);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_NUMBERS_H_
