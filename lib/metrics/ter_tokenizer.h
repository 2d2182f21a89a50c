// The normalisation of tercom, the program that defined TER in practice.
#ifndef PIPEFORMER_LIB_METRICS_TER_TOKENIZER_H_
#define PIPEFORMER_LIB_METRICS_TER_TOKENIZER_H_

#include <string>
#include <string_view>

namespace pipeformer {

struct TerTokenizerOptions {
  bool normalized = false;      // Part punctuation from words, decode entities.
  bool no_punct = false;        // Remove punctuation.
  bool asian_support = false;   // Both of these for East Asian text as well.
  bool case_sensitive = false;  // Otherwise lowercase.
};

// `utf8` with single spaces between its words.
// Source: Snover et al. 2006; tercom 0.7.25, as sacreBLEU reads it. The rules
// for runs of kana never apply there, since the line is padded: none here.
std::u32string TokenizeForTer(const TerTokenizerOptions& options,
                              std::string_view utf8);

// The same for a reference: sacreBLEU tokenizes it twice, and with
// `normalized` the second time can still part something, as "'s" of "it's"
// before a mark that the first time has only just been spaced out.
std::u32string TokenizeReferenceForTer(const TerTokenizerOptions& options,
                                       std::string_view utf8);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_TER_TOKENIZER_H_
