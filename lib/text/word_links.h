// From links between words, as word aligners give them, to links between the
// pieces that a vocabulary cut the words into. Another cut of the same text has
// other links: whoever cuts anew links anew.
#ifndef PIPEFORMER_LIB_TEXT_WORD_LINKS_H_
#define PIPEFORMER_LIB_TEXT_WORD_LINKS_H_

#include <span>
#include <string_view>
#include <vector>

#include "lib/base/link.h"
#include "lib/text/sentence.h"

namespace pipeformer {

// The words of a text: what spaces and tabs divide, as fast_align and eflomal
// count them.
std::vector<TextSpan> WordsOf(std::string_view text);

// The links between pieces of `source` and `target` whose words `words` links:
// every piece of the one word with every piece of the other. A piece belongs to
// the words that its bytes touch; one of white space alone, or without bytes of
// its own, to the word that follows. Sorted, each link once.
// Throws Error (kBadData) where a word does not exist or a sentence does not
// know the places of its pieces in the text.
std::vector<Link> LinkPieces(const Sentence& source, const Sentence& target,
                             std::span<const Link> words);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TEXT_WORD_LINKS_H_
