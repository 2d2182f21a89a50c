// What `decode` and the validation of `train` share: a search that fits a
// vocabulary.
#ifndef PIPEFORMER_TOOLS_TRANSLATION_H_
#define PIPEFORMER_TOOLS_TRANSLATION_H_

#include "lib/search/hypothesis.h"
#include "lib/text/vocabulary.h"

namespace pipeformer {

// Default options with the end symbols of `vocabulary`; its control pieces and
// its unknown piece are never produced.
SearchOptions SearchOptionsFor(const Vocabulary& vocabulary);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRANSLATION_H_
