// A sentence and what a vocabulary made of it.
#ifndef PIPEFORMER_LIB_TEXT_SENTENCE_H_
#define PIPEFORMER_LIB_TEXT_SENTENCE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace pipeformer {

// Where a piece comes from: bytes [begin, end) of the text, before any
// normalisation. Empty where a piece stands for no byte of its own, as the
// first bytes of a character that fell back to byte pieces do.
struct TextSpan {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool operator==(const TextSpan&) const = default;
};

// `tokens`, `ids` and `offsets` have the same length. They never hold <s> or
// </s>: a model that needs these adds them itself.
struct Sentence {
  std::string text = {};                 // UTF-8
  std::vector<std::string> tokens = {};  // pieces; an unknown one as it stands
  std::vector<int32_t> ids = {};
  std::vector<TextSpan> offsets = {};
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TEXT_SENTENCE_H_
