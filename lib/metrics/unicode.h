// Text as code points, and the few Unicode facts the metrics stand on: what
// separates words, what is punctuation, how a text is lowercased. Everything
// in this folder works on code points, so that "a character" is what the
// papers mean by it.
#ifndef PIPEFORMER_LIB_METRICS_UNICODE_H_
#define PIPEFORMER_LIB_METRICS_UNICODE_H_

#include <string>
#include <string_view>
#include <vector>

namespace pipeformer {

enum class Case { kAsIs, kLower };

// The code points of `utf8`, lowercased if wished. Each invalid sequence
// becomes U+FFFD.
std::u32string DecodeUtf8(std::string_view utf8, Case letters = Case::kAsIs);

// The reverse of DecodeUtf8.
std::string EncodeUtf8(std::u32string_view text);

// Full Unicode lowercasing, independent of the locale: a capital sigma that
// ends a word becomes U+03C2, a capital I with dot becomes i and U+0307.
// Source: The Unicode Standard, section 3.13 and SpecialCasing.txt.
std::string Lowercase(std::string_view utf8);

// Whether `c` separates words: Unicode white space and U+001C..U+001F, which
// is what Python's str.split() takes. U+200B, U+2060 and U+FEFF do not.
bool IsSpace(char32_t c);

// General categories P (punctuation), S (symbol) and N (number).
bool IsPunctuation(char32_t c);
bool IsSymbol(char32_t c);
bool IsNumber(char32_t c);

// One of the 32 ASCII punctuation marks and symbols.
bool IsAsciiPunctuation(char32_t c);

// 0 to 9.
inline bool IsAsciiDigit(char32_t c) { return c >= U'0' && c <= U'9'; }

// `text` without the white space at its end.
std::u32string_view StripEnd(std::u32string_view text);

// The words of `text`: its longest runs without white space. The views point
// into `text`. `words` is replaced.
void SplitWords(std::u32string_view text,
                std::vector<std::u32string_view>* words);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_UNICODE_H_
