// UTF-8, checked byte by byte and whatever the locale. Overlong forms,
// surrogates and values above U+10FFFF are ill-formed.
// Source: The Unicode Standard 15, table 3-7 (well-formed byte sequences) and
// section 3.9, "U+FFFD Substitution of Maximal Subparts".
#ifndef PIPEFORMER_LIB_BASE_UTF8_H_
#define PIPEFORMER_LIB_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeformer {

// U+FFFD REPLACEMENT CHARACTER in UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// The code point at the start of `text` and how many bytes it takes.
struct Utf8Step {
  bool valid;      // false: `length` bytes are one maximal ill-formed part
  size_t length;   // 1 to 4; 0 only when `text` is empty
  char32_t value;  // the code point; U+FFFD when not valid
};

// Reads one code point, or one maximal ill-formed part. Throws nothing.
Utf8Step NextCodePoint(std::string_view text);

// The position of the first byte that is not part of well-formed UTF-8, or
// std::string_view::npos when all of `text` is well-formed.
size_t FindInvalidUtf8(std::string_view text);

// `text` with each maximal ill-formed part replaced by one U+FFFD. Adds the
// number of replacements to `*num_replaced` where that is not null.
std::string ReplaceInvalidUtf8(std::string_view text,
                               size_t* num_replaced = nullptr);

// Appends the UTF-8 form of `value`; U+FFFD for what is no scalar value.
void AppendUtf8(char32_t value, std::string* text);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_BASE_UTF8_H_
