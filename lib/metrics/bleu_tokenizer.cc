#include "lib/metrics/bleu_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/error.h"
#include "lib/metrics/text_rules.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

constexpr std::array<std::pair<BleuTokenizer, std::string_view>, 5> kNames = {{
    {BleuTokenizer::kNone, "none"},
    {BleuTokenizer::k13a, "13a"},
    {BleuTokenizer::kIntl, "intl"},
    {BleuTokenizer::kChar, "char"},
    {BleuTokenizer::kZh, "zh"},
}};

// First and last code point of what kZh calls Chinese.
constexpr std::array<std::pair<char32_t, char32_t>, 14> kChineseRanges = {{
    {0x2001, 0x2a6d},  // Meant as U+20000..U+2A6D6, extension B.
    {0x2e80, 0x2fdf},  // Radicals.
    {0x2ff0, 0x303f},  // Description characters, symbols and punctuation.
    {0x3100, 0x312f},  // Bopomofo.
    {0x31a0, 0x31bf},  // Bopomofo extended.
    {0x31c0, 0x31ef},  // Strokes.
    {0x3200, 0x4db5},  // Enclosed, compatibility, extension A.
    {0x4e00, 0x9fbb},  // Unified ideographs.
    {0xf900, 0xfa2d},  // Compatibility ideographs.
    {0xfa30, 0xfa6a},
    {0xfa70, 0xfad9},
    {0xfe10, 0xfe1f},  // Vertical forms.
    {0xfe30, 0xfe4f},  // Compatibility forms.
    {0xff00, 0xffef},  // Full-width forms.
}};

bool IsChinese(char32_t c) {
  if (c < kChineseRanges.front().first) return false;
  return std::any_of(
      kChineseRanges.begin(), kChineseRanges.end(),
      [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::u32string Tokenize13a(std::u32string_view text) {
  // Padding lets the rules about neighbours see the first and last mark.
  std::u32string padded = U" ";
  padded += text;
  padded += U' ';
  ReplaceAll(&padded, U"<skipped>", U"");
  ReplaceAll(&padded, U"-\n", U"");
  DecodeEntities(&padded);
  return PartWesternNumbers(SpaceWesternMarks(padded));
}

std::u32string TokenizeIntl(std::u32string_view text) {
  const auto is_no_number = [](char32_t c) { return !IsNumber(c); };
  std::u32string result = PartPairs(text, PairSpacing::kBetweenAndAfter,
                                    is_no_number, IsPunctuation);
  result = PartPairs(result, PairSpacing::kBeforeAndBetween, IsPunctuation,
                     is_no_number);
  return SurroundWithSpaces(result, IsSymbol);
}

std::u32string TokenizeChar(std::u32string_view text) {
  std::u32string result;
  result.reserve(2 * text.size());
  for (const char32_t c : text) {
    if (!result.empty()) result.push_back(U' ');
    result.push_back(c);
  }
  return result;
}

std::u32string TokenizeZh(std::u32string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return PartWesternNumbers(
      SpaceWesternMarks(SurroundWithSpaces(text, IsChinese)));
}

}  // namespace

BleuTokenizer BleuTokenizerNamed(std::string_view name) {
  for (const auto& [tokenizer, known] : kNames) {
    if (name == known) return tokenizer;
  }
  ThrowUsage("unknown BLEU tokenizer '" + std::string(name) +
             "'; choose none, 13a, intl, char or zh");
}

std::string_view BleuTokenizerName(BleuTokenizer tokenizer) {
  return kNames[static_cast<size_t>(tokenizer)].second;
}

std::u32string TokenizeForBleu(BleuTokenizer tokenizer,
                               std::u32string_view text) {
  text = StripEnd(text);
  switch (tokenizer) {
    case BleuTokenizer::kNone:
      return std::u32string(text);
    case BleuTokenizer::k13a:
      return CollapseSpaces(Tokenize13a(text));
    case BleuTokenizer::kIntl:
      return CollapseSpaces(TokenizeIntl(text));
    case BleuTokenizer::kChar:
      return TokenizeChar(text);
    case BleuTokenizer::kZh:
      return CollapseSpaces(TokenizeZh(text));
  }
  Check(false, "a BLEU tokenizer of the list");
  return {};
}

}  // namespace pipeformer
