// What `score --model` writes for one pair.
#ifndef PIPEFORMER_TOOLS_SCORE_FORMAT_H_
#define PIPEFORMER_TOOLS_SCORE_FORMAT_H_

#include <cstdint>
#include <string>
#include <utility>

#include "lib/text/vocabulary.h"
#include "tools/forced_pairs.h"

namespace pipeformer {

class ScoreFormat {
 public:
  // `to` is jsonl, text or tensors. Requires: `target` outlives this.
  ScoreFormat(const Vocabulary& target, std::string to, bool distribution)
      : target_(target), to_(std::move(to)), distribution_(distribution) {}

  // The bytes of one result; `line` is the number of the input's line.
  //   jsonl    a score record, with `distribution` where it is wanted
  //   text     the log-probability; with a distribution a table: target piece,
  //            its loss (minus its log-probability), the most probable pieces
  //   tensors  a frame: ids [length], token_logprobs [length], probabilities
  //            [length, vocabulary]
  std::string Bytes(const ForcedRecord& pair, int64_t line) const;

 private:
  Json Record(const ForcedRecord& pair) const;
  Json Distribution(const ForcedResult& result) const;
  std::string Table(const ForcedRecord& pair) const;
  std::string Frame(const ForcedRecord& pair) const;

  const Vocabulary& target_;
  std::string to_;
  bool distribution_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SCORE_FORMAT_H_
