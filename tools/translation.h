// What `decode` and the validation of `train` share: a search that fits a
// vocabulary.
#ifndef PIPEFORMER_TOOLS_TRANSLATION_H_
#define PIPEFORMER_TOOLS_TRANSLATION_H_

#include "formats/model_file.h"
#include "lib/nn/ragged.h"
#include "lib/search/hypothesis.h"

namespace pipeformer {

// Default options with the end symbols of the vocabularies; control pieces and
// the unknown piece are never produced.
SearchOptions SearchOptionsFor(const VocabularyPair& vocabularies);

Boundary BoundaryOf(const VocabularyPair& vocabularies);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRANSLATION_H_
