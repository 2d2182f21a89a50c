#include "lib/text/word_links.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

using Links = std::vector<Link>;

// `text` cut into pieces that end at `ends`.
Sentence Cut(const std::string& text, const std::vector<uint32_t>& ends) {
  Sentence sentence{.text = text};
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    sentence.ids.push_back(7);
    sentence.offsets.push_back({begin, end});
    begin = end;
  }
  return sentence;
}

Links PieceLinks(const Sentence& source, const Sentence& target,
                 const Links& words) {
  return LinkPieces(source, target, words);
}

TEST(WordsOf, AreDividedBySpacesAndTabs) {
  EXPECT_EQ(WordsOf("a bcd"), (std::vector<TextSpan>{{0, 1}, {2, 5}}));
  EXPECT_EQ(WordsOf("  a\t b "), (std::vector<TextSpan>{{2, 3}, {5, 6}}));
  EXPECT_EQ(WordsOf("a\u00a0b").size(), 1u);  // as word aligners read it
  EXPECT_TRUE(WordsOf(" ").empty());
  EXPECT_TRUE(WordsOf("").empty());
}

TEST(LinkPieces, JoinsEveryPieceOfTheWords) {
  // ab | c   d e      and  x | y z
  const Sentence source = Cut("abc de", {2, 3, 5, 6});
  const Sentence target = Cut("x yz", {1, 3, 4});
  EXPECT_EQ(PieceLinks(source, target, {{0, 1}, {1, 0}}),
            (Links{{2, 0}, {3, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}}));
}

TEST(LinkPieces, GivesEachLinkOnceInOrder) {
  const Sentence both = Cut("a b", {1, 3});
  EXPECT_EQ(PieceLinks(both, both, {{1, 1}, {0, 0}, {1, 1}}),
            (Links{{0, 0}, {1, 1}}));
  EXPECT_TRUE(PieceLinks(both, both, {}).empty());
}

// "ab cd" cut as "a", "b c" and "d": the middle piece is of both words.
TEST(LinkPieces, APieceMayTouchTwoWords) {
  const Sentence source = Cut("ab cd", {1, 4, 5});
  const Sentence target = Cut("x y", {1, 3});
  EXPECT_EQ(PieceLinks(source, target, {{0, 0}, {1, 1}}),
            (Links{{0, 0}, {1, 0}, {1, 1}, {2, 1}}));
}

TEST(LinkPieces, WhiteSpaceAndEmptyPiecesBelongToTheNextWord) {
  // "", "a", " ", "b", " " and nothing after it.
  const Sentence source = Cut("a b ", {0, 1, 2, 3, 4});
  const Sentence target = Cut("x y", {1, 3});
  EXPECT_EQ(PieceLinks(source, target, {{0, 0}, {1, 1}}),
            (Links{{0, 0}, {1, 0}, {2, 1}, {3, 1}}));
}

std::string MessageOf(const Sentence& source, const Sentence& target,
                      const Links& words) {
  try {
    LinkPieces(source, target, words);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "";
}

TEST(LinkPieces, RefusesWordsThatAreNotThere) {
  const Sentence one = Cut("a", {1}), two = Cut("a b", {1, 3});
  EXPECT_NE(MessageOf(one, two, {{1, 0}}).find("word 1 of the source"),
            std::string::npos);
  EXPECT_NE(MessageOf(one, two, {{0, 2}}).find("word 2 of the target"),
            std::string::npos);
}

TEST(LinkPieces, RefusesPiecesWithoutPlaces) {
  const Sentence one = Cut("a", {1});
  Sentence bare = one;
  bare.offsets.clear();
  EXPECT_NE(MessageOf(one, bare, {{0, 0}}).find("the target came as pieces"),
            std::string::npos);
}

}  // namespace
}  // namespace pipeformer
