// From source text to a finished translation record: what `decode` does with
// one sentence before and after the search. Also the search options that fit a
// vocabulary, which the validation of `train` shares.
#ifndef PIPEFORMER_TOOLS_TRANSLATION_H_
#define PIPEFORMER_TOOLS_TRANSLATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/records.h"
#include "lib/nn/ragged.h"
#include "lib/search/forced.h"
#include "lib/search/hypothesis.h"

namespace pipeformer {

// The special pieces of a model's vocabularies.
Boundary BoundaryOf(const VocabularyPair& vocabularies);

// Which source pieces a target piece came from, by the attention of the last
// decoder layer to the source, averaged over its heads; the end symbols are
// left out.
// kHard       the source piece with the largest weight
// kSoft       every weight
// kThreshold  the pairs above a weight
enum class AlignmentKind { kNone, kHard, kSoft, kThreshold };

struct TranslationOptions {
  SearchOptions search = {};
  AlignmentKind alignment = AlignmentKind::kNone;
  double alignment_threshold = 0;
  // The metric by which one hypothesis is chosen (minimum_risk.h), chrf or
  // bleu; empty: the best ones are given.
  std::string minimum_risk = {};
  bool word_scores = false;
  // An unknown piece reads as the source word that it looks at most (kHard).
  // Source: Jean et al. 2015, section 3.3.
  bool replace_unknowns = false;
  bool continues = false;  // the model continues its input: texts hold both
};

// The search of `options` with the end symbols of the vocabularies and no
// length beyond what the positions of `network` allow either side. Control
// pieces are never produced, and the unknown piece only to be replaced.
SearchOptions FitSearch(const TranslationOptions& options,
                        const Transformer& network,
                        const VocabularyPair& vocabularies);

// One weight: source piece, target piece.
struct AlignedPair {
  int64_t source;
  int64_t target;
  float weight;
};

// The alignment of a forced pair (see ForcedDecoder) with its attention.
std::vector<AlignedPair> Align(const ForcedResult& forced,
                               const TranslationOptions& options);

// A sentence on its way through the search.
struct SentenceToTranslate {
  Json record;       // of the input, with its id
  int64_t line = 0;  // of the input, from 1
  Sentence source;   // with ids
  Sentence prefix;   // of every result, or empty
  // As in SearchRequest.
  std::optional<int64_t> min_length, max_length;
  Constraints constraints;
};

// What the search is asked for.
SearchRequest RequestOf(const SentenceToTranslate& sentence, int64_t index);

// Words that pieces of a hypothesis read as, by the number of the piece.
using Replacements = std::map<size_t, std::string>;

// The words of the source that the unknown pieces of `ids` look at, by their
// attention as a forced pair.
Replacements ReplaceUnknowns(const SentenceToTranslate& sentence,
                             const std::vector<int32_t>& ids,
                             const ForcedResult& forced,
                             const Vocabulary& target);

// The text of a hypothesis; of one that continues its source, both together.
std::string WholeText(const SentenceToTranslate& sentence,
                      const Hypothesis& hypothesis, const Vocabulary& target,
                      const TranslationOptions& options,
                      const Replacements& replacements = {});

// The hypothesis of the least expected risk, its score the expected utility:
// drawn ones count alike, those of a beam by their probabilities.
// Requires: at least one.
Hypothesis LeastRisk(const SentenceToTranslate& sentence,
                     std::vector<Hypothesis> hypotheses,
                     const Vocabulary& target,
                     const TranslationOptions& options);

// What the search found, with alignments where they are asked for.
struct Translation {
  std::vector<Hypothesis> hypotheses;                  // best first
  std::vector<std::vector<AlignedPair>> aligned = {};  // of each, or none
  std::vector<Replacements> replacements = {};         // of each, or none
};

// The translation of a blank sentence: empty, with score 0.
Translation BlankTranslation();

// One line: the best text, with ` ||| ` and extras where asked for; nothing for
// a blank sentence. With n_best above 1 and all of them given, Moses lines
// `id ||| text ||| Logprob= x ||| score`, for a blank sentence too.
std::string TranslationText(const SentenceToTranslate& sentence,
                            const Translation& translation,
                            const Vocabulary& target,
                            const TranslationOptions& options);

// A translation record (schemas/translation.schema.json) with the unknown keys
// of the input's record.
Json TranslationRecord(const SentenceToTranslate& sentence,
                       const Translation& translation, const Vocabulary& target,
                       const TranslationOptions& options);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRANSLATION_H_
