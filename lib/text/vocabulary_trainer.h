// Learns a vocabulary of pieces from text, with SentencePiece's trainer.
#ifndef PIPEFORMER_LIB_TEXT_VOCABULARY_TRAINER_H_
#define PIPEFORMER_LIB_TEXT_VOCABULARY_TRAINER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pipeformer {

// The names and defaults are SentencePiece's own, but for the coverage, which
// is 1: no character of the text becomes unknown unless asked for.
struct VocabularyOptions {
  std::string model_type = "unigram";  // unigram, bpe, char, word
  int64_t vocab_size = 8000;
  double character_coverage = 1.0;  // [0.98, 1]: share of characters kept
  bool byte_fallback = false;       // a rare character as its UTF-8 bytes
  bool split_digits = false;        // each digit a piece of its own
  std::vector<std::string> user_defined_symbols;  // always one piece
  std::vector<std::string> control_symbols;       // never come from text
  std::string normalization_rule_name = "nmt_nfkc";
  int64_t max_sentence_length = 4192;  // bytes; longer ones are left out
  int64_t pad_id = -1;                 // -1: no padding piece
};

struct TrainedVocabulary {
  std::string model;          // the bytes of a SentencePiece model
  int64_t num_sentences = 0;  // that had text and were not too long
  int64_t num_too_long = 0;   // left out
  int64_t num_reserved = 0;   // had NUL or U+2585, read as spaces
};

// Gives the next sentence and returns true, or false at the end.
using SentenceSource = std::function<bool(std::string* sentence)>;

// Learns from all sentences of `source`, each UTF-8. <unk> is 0, <s> 1, </s> 2.
// The same text and options give the same bytes, whatever the machine's cores.
// Throws Error: kBadData when there is no sentence to learn from, or when the
// text does not allow the size asked for (the message names one that it does);
// kUsage on options that cannot be; and what `source` throws.
TrainedVocabulary TrainVocabulary(const VocabularyOptions& options,
                                  const SentenceSource& source);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TEXT_VOCABULARY_TRAINER_H_
