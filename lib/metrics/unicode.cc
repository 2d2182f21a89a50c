#include "lib/metrics/unicode.h"

#include <unicode/ucasemap.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

struct CaseMapCloser {
  void operator()(UCaseMap* map) const { ucasemap_close(map); }
};
using CaseMap = std::unique_ptr<UCaseMap, CaseMapCloser>;

// The case map of no language in particular, shared by all threads.
const UCaseMap* RootCaseMap() {
  static const CaseMap map = [] {
    UErrorCode status = U_ZERO_ERROR;
    CaseMap opened(ucasemap_open("", 0, &status));
    Check(U_SUCCESS(status), "ICU opens its case map");
    return opened;
  }();
  return map.get();
}

// The length in the type that ICU takes.
int32_t IcuLength(size_t length) {
  Check(length <= std::numeric_limits<int32_t>::max(), "ICU takes the length");
  return static_cast<int32_t>(length);
}

}  // namespace

std::u32string DecodeUtf8(std::string_view utf8, Case letters) {
  if (letters == Case::kLower) return DecodeUtf8(Lowercase(utf8));
  std::u32string text(utf8.size(), U'\0');
  const auto* bytes = reinterpret_cast<const uint8_t*>(utf8.data());
  const int32_t num_bytes = IcuLength(utf8.size());
  size_t length = 0;
  for (int32_t i = 0; i < num_bytes;) {
    UChar32 c;
    U8_NEXT_OR_FFFD(bytes, i, num_bytes, c);
    text[length++] = static_cast<char32_t>(c);
  }
  text.resize(length);
  return text;
}

std::string EncodeUtf8(std::u32string_view text) {
  std::string utf8(text.size() * U8_MAX_LENGTH, '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(utf8.data());
  size_t length = 0;
  for (const char32_t c : text) {
    U8_APPEND_UNSAFE(bytes, length, c);
  }
  utf8.resize(length);
  return utf8;
}

std::string Lowercase(std::string_view utf8) {
  std::string lower(utf8);
  if (IsAscii(utf8)) {
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    return lower;
  }
  // A code point grows to at most three; bytes at most triple.
  lower.resize(3 * utf8.size());
  UErrorCode status = U_ZERO_ERROR;
  const int32_t length =
      ucasemap_utf8ToLower(RootCaseMap(), lower.data(), IcuLength(lower.size()),
                           utf8.data(), IcuLength(utf8.size()), &status);
  Check(U_SUCCESS(status), "ICU lowercases a text");
  lower.resize(length);
  return lower;
}

bool IsSpace(char32_t c) {
  if (c < 0x80)
    return c == U' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

bool IsPunctuation(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_P_MASK) != 0;
}

bool IsSymbol(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_S_MASK) != 0;
}

bool IsNumber(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_N_MASK) != 0;
}

bool IsAsciiPunctuation(char32_t c) {
  return (c >= U'!' && c <= U'/') || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

std::u32string_view StripEnd(std::u32string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

void SplitWords(std::u32string_view text,
                std::vector<std::u32string_view>* words) {
  words->clear();
  size_t i = 0;
  while (i < text.size()) {
    while (i < text.size() && IsSpace(text[i])) ++i;
    const size_t begin = i;
    while (i < text.size() && !IsSpace(text[i])) ++i;
    if (i > begin) words->push_back(text.substr(begin, i - begin));
  }
}

}  // namespace pipeformer
