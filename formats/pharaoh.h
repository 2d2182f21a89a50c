// Word alignments as text: the lines that fast_align, eflomal and GIZA++'s
// symmetrisers write, known as Pharaoh's format.
#ifndef PIPEFORMER_FORMATS_PHARAOH_H_
#define PIPEFORMER_FORMATS_PHARAOH_H_

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/link.h"

namespace pipeformer {

// The links of a line `0-0 1-2 2-1`: source word, target word, from 0, divided
// by spaces; none for a blank line. Throws Error (kBadData) beginning with
// `place` on anything else.
std::vector<Link> ParsePharaoh(std::string_view line, const std::string& place);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_PHARAOH_H_
