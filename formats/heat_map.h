// A matrix of weights as a picture of characters, for a terminal.
#ifndef PIPEFORMER_FORMATS_HEAT_MAP_H_
#define PIPEFORMER_FORMATS_HEAT_MAP_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipeformer {

// kShades  ten characters from blank to @, for any terminal or file
// kColour  256-colour backgrounds of ANSI escapes
enum class HeatMapStyle { kShades, kColour };

struct HeatMap {
  std::vector<std::string> row_labels;     // [rows], UTF-8
  std::vector<std::string> column_labels;  // [columns], UTF-8
  std::span<const float> weights;          // [rows, columns], in [0, 1]
};

// Lines of text: the column labels from top to bottom, then a line a row with
// two characters a cell. The darkest cell is the largest weight of the matrix.
// Labels are cut to 16 columns.
std::string DrawHeatMap(const HeatMap& map, HeatMapStyle style);

// Columns that `text` takes on a terminal: two for East Asian wide characters
// and emoji, none for combining marks. Source: Unicode Standard Annex 11.
int DisplayWidth(std::string_view text);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_HEAT_MAP_H_
