#include "tools/translation.h"

namespace pipeformer {

Boundary BoundaryOf(const VocabularyPair& vocabularies) {
  return {.bos = vocabularies.target->bos_id(),
          .eos = vocabularies.target->eos_id(),
          .source_eos = vocabularies.source->eos_id()};
}

SearchOptions SearchOptionsFor(const VocabularyPair& vocabularies) {
  SearchOptions options;
  options.boundary = BoundaryOf(vocabularies);
  const Vocabulary& vocabulary = *vocabularies.target;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (id == options.boundary.eos) continue;
    if (vocabulary.IsControl(id) || vocabulary.IsUnknown(id) ||
        vocabulary.IsUnused(id)) {
      options.suppressed.push_back(id);
    }
  }
  return options;
}

}  // namespace pipeformer
