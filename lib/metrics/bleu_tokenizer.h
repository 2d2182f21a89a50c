// The tokenizers of BLEU. A BLEU score says nothing without the name of its
// tokenizer, so each one here gives, mark for mark, what sacreBLEU's of the
// same name gives.
#ifndef PIPEFORMER_LIB_METRICS_BLEU_TOKENIZER_H_
#define PIPEFORMER_LIB_METRICS_BLEU_TOKENIZER_H_

#include <string>
#include <string_view>

namespace pipeformer {

enum class BleuTokenizer {
  // The text as it is, words parted by white space.
  kNone,
  // mteval-v13a: ASCII punctuation, entities decoded; the usual choice.
  k13a,
  // mteval-v14, international: punctuation and symbols of all scripts.
  kIntl,
  // Every code point is a word.
  kChar,
  // Every Chinese character is a word, the rest as kIntl's Western cousin
  // 13a without padding. The table of ranges has two slips that scores in
  // print depend on: U+2001..U+2A6D are "Chinese", U+20000 and above are not.
  kZh,
};

// The tokenizer called `name`: none, 13a, intl, char or zh. Throws a usage
// error for any other name.
BleuTokenizer BleuTokenizerNamed(std::string_view name);

// The name of `tokenizer` on the command line and in signatures.
std::string_view BleuTokenizerName(BleuTokenizer tokenizer);

// `text` with spaces between its words. White space at the end of `text` is
// ignored.
// Source: NIST mteval-v13a.pl and mteval-v14.pl; Post 2018, section 3.
std::u32string TokenizeForBleu(BleuTokenizer tokenizer,
                               std::u32string_view text);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_BLEU_TOKENIZER_H_
