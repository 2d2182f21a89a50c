#include "formats/heat_map.h"

#include <algorithm>
#include <cmath>

namespace pipeformer {
namespace {

constexpr int kMaxLabel = 16;

// The characters of UTF-8 text, control characters as spaces.
std::vector<std::string> Characters(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (continues && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(
          1, static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c);
    }
  }
  return characters;
}

uint32_t CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  uint32_t code = first < 0x80   ? first
                  : first < 0xe0 ? first & 0x1f
                  : first < 0xf0 ? first & 0x0f
                                 : first & 0x07;
  for (size_t i = 1; i < character.size(); ++i) {
    code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3f);
  }
  return code;
}

int CharacterWidth(std::string_view character) {
  struct Range {
    uint32_t first, last;
  };
  static constexpr Range kNone[] = {{0x300, 0x36f},   {0x200b, 0x200f},
                                    {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
                                    {0xfe20, 0xfe2f}, {0x1f3fb, 0x1f3ff}};
  static constexpr Range kWide[] = {
      {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
      {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
      {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
      {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
  const uint32_t code = CodePoint(character);
  const auto has = [code](const Range& r) {
    return r.first <= code && code <= r.last;
  };
  if (std::any_of(std::begin(kNone), std::end(kNone), has)) return 0;
  return std::any_of(std::begin(kWide), std::end(kWide), has) ? 2 : 1;
}

// The characters that fit into kMaxLabel columns, marks with their bases.
std::vector<std::string> LabelCharacters(std::string_view label) {
  std::vector<std::string> cells;
  int width = 0;
  for (const std::string& character : Characters(label)) {
    const int more = CharacterWidth(character);
    if (more == 0 && !cells.empty()) {
      cells.back() += character;
      continue;
    }
    if (width + more > kMaxLabel) break;
    width += more;
    cells.push_back(character);
  }
  return cells;
}

std::string Join(const std::vector<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells) text += cell;
  return text;
}

std::string ColumnHeads(const HeatMap& map, int margin) {
  std::vector<std::vector<std::string>> labels;
  size_t height = 0;
  for (const std::string& label : map.column_labels) {
    labels.push_back(LabelCharacters(label));
    height = std::max(height, labels.back().size());
  }
  std::string text;
  for (size_t line = 0; line < height; ++line) {
    std::string row(static_cast<size_t>(margin), ' ');
    for (const auto& label : labels) {
      const size_t skip = height - label.size();  // labels end at the bottom
      const std::string cell = line < skip ? " " : label[line - skip];
      row += cell + std::string(2 - std::min(2, DisplayWidth(cell)), ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string Cell(float weight, float largest, HeatMapStyle style) {
  const float share = largest > 0 ? weight / largest : 0;
  if (style == HeatMapStyle::kShades) {
    static constexpr char kShades[] = " .:-=+*#%@";
    const int level =
        std::clamp(static_cast<int>(std::lround(share * 9)), 0, 9);
    return std::string(2, kShades[level]);
  }
  // The grey ramp of the 256 colours: 255 is white, 232 nearly black.
  const int level =
      std::clamp(static_cast<int>(std::lround(share * 23)), 0, 23);
  return "\x1b[48;5;" + std::to_string(255 - level) + "m  ";
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (const std::string& character : Characters(text)) {
    width += CharacterWidth(character);
  }
  return width;
}

std::string DrawHeatMap(const HeatMap& map, HeatMapStyle style) {
  std::vector<std::string> labels;
  int margin = 0;
  for (const std::string& label : map.row_labels) {
    labels.push_back(Join(LabelCharacters(label)));
    margin = std::max(margin, DisplayWidth(labels.back()));
  }
  std::string text = ColumnHeads(map, margin + 2);
  const float largest =
      map.weights.empty()
          ? 0
          : *std::max_element(map.weights.begin(), map.weights.end());
  const size_t columns = map.column_labels.size();
  for (size_t r = 0; r < labels.size(); ++r) {
    text += std::string(static_cast<size_t>(margin - DisplayWidth(labels[r])),
                        ' ') +
            labels[r] + " |";
    for (size_t c = 0; c < columns; ++c) {
      text += Cell(map.weights[r * columns + c], largest, style);
    }
    text += style == HeatMapStyle::kColour ? "\x1b[0m|\n" : "|\n";
  }
  return text;
}

}  // namespace pipeformer
