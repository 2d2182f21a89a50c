#include "lib/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pipeformer {
namespace {

// What table 3-7 allows after a lead byte: how many bytes follow, and the
// range of the first of them. The others are always 80..BF.
struct Lead {
  size_t num_following;
  uint8_t low;
  uint8_t high;
};

Lead ReadLead(uint8_t byte) {
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {1, 0x80, 0xBF};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte < 0xF0) return {2, 0x80, 0xBF};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {3, 0x80, 0xBF};
}

// The number of leading ASCII bytes of `text`, eight at a time.
size_t CountAscii(std::string_view text) {
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (word & 0x8080808080808080u) break;
  }
  while (i < text.size() && static_cast<uint8_t>(text[i]) < 0x80) ++i;
  return i;
}

}  // namespace

Utf8Step NextCodePoint(std::string_view text) {
  if (text.empty()) return {false, 0, 0xFFFD};
  const uint8_t first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {true, 1, first};
  const Lead lead = ReadLead(first);
  if (lead.num_following == 0) return {false, 1, 0xFFFD};
  char32_t value = first & (0x3Fu >> lead.num_following);
  for (size_t i = 1; i <= lead.num_following; ++i) {
    const uint8_t byte = i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
    const uint8_t low = i == 1 ? lead.low : 0x80;
    const uint8_t high = i == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) return {false, i, 0xFFFD};
    value = (value << 6) | (byte & 0x3Fu);
  }
  return {true, lead.num_following + 1, value};
}

size_t FindInvalidUtf8(std::string_view text) {
  size_t i = 0;
  while (true) {
    i += CountAscii(text.substr(i));
    if (i == text.size()) return std::string_view::npos;
    const Utf8Step step = NextCodePoint(text.substr(i));
    if (!step.valid) return i;
    i += step.length;
  }
}

std::string ReplaceInvalidUtf8(std::string_view text, size_t* num_replaced) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const size_t good = std::min(FindInvalidUtf8(text), text.size());
    result.append(text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) break;
    result.append(kReplacementCharacter);
    if (num_replaced != nullptr) ++*num_replaced;
    text.remove_prefix(NextCodePoint(text).length);
  }
  return result;
}

void AppendUtf8(char32_t value, std::string* text) {
  const auto tail = [&](int shift) {
    text->push_back(static_cast<char>(0x80 | ((value >> shift) & 0x3F)));
  };
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) value = 0xFFFD;
  if (value < 0x80) {
    text->push_back(static_cast<char>(value));
  } else if (value < 0x800) {
    text->push_back(static_cast<char>(0xC0 | (value >> 6)));
    tail(0);
  } else if (value < 0x10000) {
    text->push_back(static_cast<char>(0xE0 | (value >> 12)));
    tail(6);
    tail(0);
  } else {
    text->push_back(static_cast<char>(0xF0 | (value >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace pipeformer
