#include "lib/metrics/text_rules.h"

#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

bool IsWesternMark(char32_t c) {
  return IsAsciiPunctuation(c) && c != U'\'' && c != U',' && c != U'-' &&
         c != U'.';
}

bool IsPeriodOrComma(char32_t c) { return c == U'.' || c == U','; }

bool IsNoDigit(char32_t c) { return !IsAsciiDigit(c); }

}  // namespace

void ReplaceAll(std::u32string* text, std::u32string_view from,
                std::u32string_view to) {
  for (size_t at = text->find(from); at != std::u32string::npos;
       at = text->find(from, at + to.size())) {
    text->replace(at, from.size(), to);
  }
}

void DecodeEntities(std::u32string* text) {
  if (text->find(U'&') == std::u32string::npos) return;
  ReplaceAll(text, U"&quot;", U"\"");
  ReplaceAll(text, U"&amp;", U"&");
  ReplaceAll(text, U"&lt;", U"<");
  ReplaceAll(text, U"&gt;", U">");
}

std::u32string SpaceWesternMarks(std::u32string_view text) {
  return SurroundWithSpaces(text, IsWesternMark);
}

std::u32string PartWesternNumbers(std::u32string_view text) {
  std::u32string result = PartPairs(text, PairSpacing::kBetweenAndAfter,
                                    IsNoDigit, IsPeriodOrComma);
  result = PartPairs(result, PairSpacing::kBeforeAndBetween, IsPeriodOrComma,
                     IsNoDigit);
  return PartPairs(result, PairSpacing::kBetweenAndAfter, IsAsciiDigit,
                   [](char32_t c) { return c == U'-'; });
}

std::u32string CollapseSpaces(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  bool pending = false;
  for (const char32_t c : text) {
    if (IsSpace(c)) {
      pending = !result.empty();
      continue;
    }
    if (pending) result.push_back(U' ');
    pending = false;
    result.push_back(c);
  }
  return result;
}

}  // namespace pipeformer
