#include "lib/text/word_links.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t'; }

// The pieces of each word, in their order.
using PiecesOfWords = std::vector<std::vector<int32_t>>;

PiecesOfWords PiecesByWord(const Sentence& sentence, const char* side) {
  if (sentence.offsets.size() != sentence.ids.size()) {
    ThrowBadData(std::string("the ") + side +
                 " came as pieces whose places in its text are not known; "
                 "give the text alone");
  }
  const std::vector<TextSpan> words = WordsOf(sentence.text);
  PiecesOfWords pieces(words.size());
  for (size_t p = 0; p < sentence.offsets.size(); ++p) {
    const TextSpan& span = sentence.offsets[p];
    auto word = std::upper_bound(
        words.begin(), words.end(), span.begin,
        [](uint32_t at, const TextSpan& w) { return at < w.end; });
    const auto first = word;
    for (; word != words.end() && (word == first || word->begin < span.end);
         ++word) {
      pieces[static_cast<size_t>(word - words.begin())].push_back(
          static_cast<int32_t>(p));
    }
  }
  return pieces;
}

const std::vector<int32_t>& PiecesOf(const PiecesOfWords& words, int32_t word,
                                     const char* side) {
  if (word >= 0 && static_cast<size_t>(word) < words.size()) {
    return words[static_cast<size_t>(word)];
  }
  ThrowBadData("an alignment names word " + std::to_string(word) + " of the " +
               side + ", which has " + std::to_string(words.size()) +
               " words, counted from 0; align the same text, words divided by "
               "spaces");
}

}  // namespace

std::vector<TextSpan> WordsOf(std::string_view text) {
  std::vector<TextSpan> words;
  size_t at = 0;
  while (true) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (at == text.size()) return words;
    const size_t begin = at;
    while (at < text.size() && !IsSpace(text[at])) ++at;
    words.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(at)});
  }
}

std::vector<Link> LinkPieces(const Sentence& source, const Sentence& target,
                             std::span<const Link> words) {
  std::vector<Link> links;
  if (words.empty()) return links;
  const PiecesOfWords sources = PiecesByWord(source, "source");
  const PiecesOfWords targets = PiecesByWord(target, "target");
  for (const Link& link : words) {
    const auto& of_target = PiecesOf(targets, link.target, "target");
    for (const int32_t s : PiecesOf(sources, link.source, "source")) {
      for (const int32_t t : of_target) links.push_back({s, t});
    }
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

}  // namespace pipeformer
