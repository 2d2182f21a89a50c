#include "lib/metrics/ter_tokenizer.h"

#include "lib/metrics/text_rules.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

bool Between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

bool IsRemovedMark(char32_t c) {
  return std::u32string_view(U".,?:;!\"()").find(c) !=
         std::u32string_view::npos;
}

// East Asian brackets and stops, and the full-width forms of Western ones.
bool IsAsianMark(char32_t c) {
  return c == 0x3001 || c == 0x3002 || Between(c, 0x3008, 0x3011) ||
         Between(c, 0x3014, 0x301f) || Between(c, 0xff61, 0xff65) ||
         c == 0x30fb ||
         std::u32string_view(
             U"\uff0e\uff0c\uff1f\uff1a\uff1b\uff01\uff02"
             U"\uff08\uff09")
                 .find(c) != std::u32string_view::npos;
}

// Ideographs, radicals, strokes and their compatibility forms.
bool IsAsianCharacter(char32_t c) {
  return Between(c, 0x2e80, 0x2eff) || Between(c, 0x31c0, 0x31ef) ||
         Between(c, 0x3200, 0x33ff) || Between(c, 0x3400, 0x4dbf) ||
         Between(c, 0x4e00, 0x9fff) || Between(c, 0xf900, 0xfaff) ||
         Between(c, 0xfe30, 0xfe4f);
}

std::u32string NormalizeWestern(std::u32string text) {
  ReplaceAll(&text, U"\n-", U"");
  DecodeEntities(&text);
  text = SpaceWesternMarks(U" " + text + U" ");
  ReplaceAll(&text, U"'s ", U" 's ");
  return PartWesternNumbers(text);
}

}  // namespace

std::u32string TokenizeForTer(const TerTokenizerOptions& options,
                              std::string_view utf8) {
  std::u32string text =
      DecodeUtf8(utf8, options.case_sensitive ? Case::kAsIs : Case::kLower);
  text.resize(StripEnd(text).size());
  if (options.normalized) {
    text = NormalizeWestern(std::move(text));
    if (options.asian_support) {
      text = SurroundWithSpaces(text, [](char32_t c) {
        return IsAsianCharacter(c) || IsAsianMark(c);
      });
    }
  }
  if (options.no_punct) {
    std::erase_if(text, IsRemovedMark);
    if (options.asian_support) std::erase_if(text, IsAsianMark);
  }
  return CollapseSpaces(text);
}

std::u32string TokenizeReferenceForTer(const TerTokenizerOptions& options,
                                       std::string_view utf8) {
  const std::u32string once = TokenizeForTer(options, utf8);
  if (!options.normalized) return once;
  return TokenizeForTer(options, EncodeUtf8(once));
}

}  // namespace pipeformer
