#include "formats/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pipeformer {
namespace {

std::string Draw(const std::vector<std::string>& rows,
                 const std::vector<std::string>& columns,
                 const std::vector<float>& weights,
                 HeatMapStyle style = HeatMapStyle::kShades) {
  return DrawHeatMap(
      {.row_labels = rows, .column_labels = columns, .weights = weights},
      style);
}

TEST(HeatMap, DrawsTwoCharactersACell) {
  EXPECT_EQ(Draw({"ein", "</s>"}, {"▁a", "b"}, {1, 0, 0.5f, 0.25f}),
            "      ▁\n"
            "      a b\n"
            " ein |@@  |\n"
            "</s> |++::|\n");
}

TEST(HeatMap, TheDarkestCellIsTheLargestWeight) {
  EXPECT_EQ(Draw({"r"}, {"a", "b", "c"}, {0.2f, 0.1f, 0}),
            "   a b c\n"
            "r |@@++  |\n");
  // Ten shades in equal steps.
  EXPECT_EQ(Draw({"r"}, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"},
                 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}),
            "   a b c d e f g h i j\n"
            "r |  ..::--==++**##%%@@|\n");
}

TEST(HeatMap, AllZeroIsBlank) {
  EXPECT_EQ(Draw({"r", "s"}, {"a"}, {0, 0}),
            "   a\n"
            "r |  |\n"
            "s |  |\n");
}

TEST(HeatMap, EmptyHasNoCells) {
  EXPECT_EQ(Draw({}, {}, {}), "");
  EXPECT_EQ(Draw({"r"}, {}, {}), "r ||\n");
  EXPECT_EQ(Draw({}, {"ab"}, {}), "  a\n  b\n");
}

TEST(HeatMap, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(Draw({"語", "a"}, {"日本", "x"}, {1, 0, 0, 1}),
            "    日\n"
            "    本x\n"
            "語 |@@  |\n"
            " a |  @@|\n");
}

TEST(HeatMap, CombiningMarksStayWithTheirBases) {
  EXPECT_EQ(Draw({"e\u0301a"}, {"o\u0308u", "n"}, {1, 1}),
            "    o\u0308\n"
            "    u n\n"
            "e\u0301a |@@@@|\n");
}

TEST(HeatMap, LongLabelsAreCutToSixteenColumns) {
  const std::string cut(16, 'x');
  EXPECT_EQ(Draw({std::string(40, 'x')}, {"a"}, {1}),
            std::string(18, ' ') + "a\n" + cut + " |@@|\n");
  std::string wide;
  for (int i = 0; i < 9; ++i) wide += "語";
  const std::string text = Draw({"r"}, {wide}, {1});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);  // 8 and the row
}

TEST(HeatMap, ControlCharactersCannotBreakTheLine) {
  EXPECT_EQ(Draw({"a\nb\x1b"}, {"\t"}, {1}), "\na b  |@@|\n");
}

TEST(HeatMap, ColoursAreBackgroundsThatEndWithTheRow) {
  EXPECT_EQ(Draw({"r"}, {"a", "b"}, {1, 0}, HeatMapStyle::kColour),
            "   a b\n"
            "r |\x1b[48;5;232m  \x1b[48;5;255m  \x1b[0m|\n");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("▁Grün"), 5);
  EXPECT_EQ(DisplayWidth("日本語"), 6);
  EXPECT_EQ(DisplayWidth("한"), 2);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\U0001F600"), 2);
  EXPECT_EQ(DisplayWidth("\uFF21"), 2);
  EXPECT_EQ(DisplayWidth("\u200D"), 0);
}

}  // namespace
}  // namespace pipeformer
