// The number of edits that TER counts: words inserted, deleted, substituted,
// and groups of words moved as one.
#ifndef PIPEFORMER_LIB_METRICS_TRANSLATION_EDITS_H_
#define PIPEFORMER_LIB_METRICS_TRANSLATION_EDITS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace pipeformer {

// How many edits turn `hypothesis` into `reference`. As the fewest cannot be
// found in reasonable time, groups of words are moved greedily: each time the
// move that saves most, until none saves anything. A move takes at most 10
// words at most 50 places, and at most 1000 moves are tried. With an empty
// reference every word is an edit.
// Source: Snover et al. 2006, section 2 and algorithm 1; the order in which
// equal moves are preferred, and the limits, as sacreBLEU and tercom.
int CountTranslationEdits(std::vector<uint32_t> hypothesis,
                          std::span<const uint32_t> reference);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_TRANSLATION_EDITS_H_
