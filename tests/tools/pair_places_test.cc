#include "tools/pair_places.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

TEST(PairPlaces, KnowsEachPairsLine) {
  PairPlaces places;
  places.BeginFile("a.tsv", Numbering::kLines);
  const std::vector<int64_t> lines = {1, 2, 3, 7, 8, 20};
  for (const int64_t line : lines) places.Add(line);
  places.BeginFile("empty.tsv", Numbering::kLines);
  places.BeginFile("b.safetensors", Numbering::kRecords);
  places.Add(0);
  places.Add(2);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(places.At(static_cast<int64_t>(i)),
              "a.tsv:" + std::to_string(lines[i]));
  }
  EXPECT_EQ(places.At(6), "b.safetensors: record 0");
  EXPECT_EQ(places.At(7), "b.safetensors: record 2");
  EXPECT_THROW(places.At(8), std::logic_error);
}

// The next line of another file does not continue this one.
TEST(PairPlaces, AFileEndsARun) {
  PairPlaces places;
  places.BeginFile("a", Numbering::kLines);
  places.Add(1);
  places.BeginFile("b", Numbering::kLines);
  places.Add(2);
  EXPECT_EQ(places.At(1), "b:2");
}

TEST(PairPlaces, ListsTheFirstInOrderAndCountsTheRest) {
  PairPlaces places;
  places.BeginFile("f", Numbering::kLines);
  for (int64_t line = 1; line <= 100; ++line) places.Add(line);
  EXPECT_EQ(places.List(std::vector<int64_t>{41}), "f:42");
  EXPECT_EQ(places.List(std::vector<int64_t>{9, 0, 4}), "f:1, f:5, f:10");
  std::vector<int64_t> many;
  for (int64_t pair = 99; pair >= 10; --pair) many.push_back(pair);
  EXPECT_EQ(places.List(many),
            "f:11, f:12, f:13, f:14, f:15, f:16, f:17, f:18 and 82 more");
}

}  // namespace
}  // namespace pipeformer
