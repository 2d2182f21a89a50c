#include "tools/translation.h"

namespace pipeformer {

SearchOptions SearchOptionsFor(const Vocabulary& vocabulary) {
  SearchOptions options;
  options.bos = vocabulary.bos_id();
  options.eos = vocabulary.eos_id();
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (id == options.eos) continue;
    if (vocabulary.IsControl(id) || vocabulary.IsUnknown(id) ||
        vocabulary.IsUnused(id)) {
      options.suppressed.push_back(id);
    }
  }
  return options;
}

}  // namespace pipeformer
