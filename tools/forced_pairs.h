// Pairs, or the sentences of a language model, through a model: what `score
// --model` and `inspect-attention` do with a chunk of records. Reads them, cuts
// them into pieces, and runs them together; the caller formats.
#ifndef PIPEFORMER_TOOLS_FORCED_PAIRS_H_
#define PIPEFORMER_TOOLS_FORCED_PAIRS_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/records.h"
#include "lib/search/forced.h"
#include "tools/support/pipeline.h"

namespace pipeformer {

// Records handed to a thread at once: enough for full matrices, few enough
// that short inputs keep all threads busy and long ones stay small in memory.
inline constexpr uint64_t kPairsTogether = 32;

// One pair and what the model made of it. A pair without pieces on both sides
// is `blank` and has no result; a bad record has a `problem`.
struct ForcedRecord {
  Json record;  // of the input, with its id
  Sentence source, target;
  ForcedResult result;
  bool blank = false;
  std::string place;    // `file:line`
  std::string problem;  // begins with the place
};

// Used by one thread; the model may be shared.
class ForcedPairs {
 public:
  // `from` is tsv, jsonl or text, or empty: text for a language model of
  // sentences, else tsv. Throws Error (64) on text for a model of pairs.
  // Requires: `model` outlives this.
  ForcedPairs(const Model& model, std::string from, const ForcedWishes& wishes);

  // Gives every record of the chunk to `take`, in order. Records with a
  // `target`, or with `hypotheses` (the best is taken), are pairs; for a
  // language model of sentences others are sentences, its targets. Ids that a
  // sentence brings are used as they are.
  void Run(std::span<const InputRecord> records,
           const std::function<void(const InputRecord&, ForcedRecord&)>& take);

 private:
  ForcedRecord Read(const InputRecord& record) const;
  void ReadJson(const std::string& place, ForcedRecord& pair) const;
  void CheckLengths(const ForcedRecord& pair) const;
  void RunTogether(std::span<ForcedRecord> pairs);

  const Model& model_;
  std::string from_;
  ForcedWishes wishes_;
  ForcedDecoder decoder_;
};

// `json` (a sentence, or its text) as pieces of `vocabulary`: its `ids` where
// it has them, else its text. Throws Error (65) on ids that the vocabulary
// does not have.
Sentence EncodeSentence(const Json& json, const Vocabulary& vocabulary,
                        const std::string& place);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_FORCED_PAIRS_H_
