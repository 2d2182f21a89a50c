// The rewriting steps that the tokenizers of evaluation scripts share: put
// spaces around a character, part two neighbouring characters, decode four
// entities. A step scans from left to right and never looks twice at a
// character that it has taken, as a global regular-expression replacement.
#ifndef PIPEFORMER_LIB_METRICS_TEXT_RULES_H_
#define PIPEFORMER_LIB_METRICS_TEXT_RULES_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace pipeformer {

// Puts a space before and after every character that `matches`.
template <class Predicate>
std::u32string SurroundWithSpaces(std::u32string_view text, Predicate matches) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 2);
  for (const char32_t c : text) {
    const bool apart = matches(c);
    if (apart) result.push_back(U' ');
    result.push_back(c);
    if (apart) result.push_back(U' ');
  }
  return result;
}

// Where PartPairs puts its spaces around a pair "ab".
enum class PairSpacing { kBetweenAndAfter, kBeforeAndBetween };

// Spaces out every pair of neighbours (a, b) with first(a) and second(b).
template <class First, class Second>
std::u32string PartPairs(std::u32string_view text, PairSpacing spacing,
                         First first, Second second) {
  std::u32string result;
  result.reserve(text.size() + text.size() / 2);
  size_t i = 0;
  while (i < text.size()) {
    if (i + 1 == text.size() || !second(text[i + 1]) || !first(text[i])) {
      result.push_back(text[i++]);
      continue;
    }
    if (spacing == PairSpacing::kBeforeAndBetween) result.push_back(U' ');
    result.push_back(text[i]);
    result.push_back(U' ');
    result.push_back(text[i + 1]);
    if (spacing == PairSpacing::kBetweenAndAfter) result.push_back(U' ');
    i += 2;
  }
  return result;
}

// Replaces every `from` by `to`, from left to right. Requires: a non-empty
// `from`.
void ReplaceAll(std::u32string* text, std::u32string_view from,
                std::u32string_view to);

// Decodes &quot; &amp; &lt; &gt; one after another: "&amp;lt;" becomes "<".
void DecodeEntities(std::u32string* text);

// Puts spaces around ASCII punctuation other than `'`, `,`, `-`, `.`.
std::u32string SpaceWesternMarks(std::u32string_view text);

// Parts `.` and `,` from a neighbour that is no digit, and `-` from a digit
// before it.
std::u32string PartWesternNumbers(std::u32string_view text);

// `text` with one space between words and none at the ends.
std::u32string CollapseSpaces(std::u32string_view text);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_TEXT_RULES_H_
