#include "lib/base/utf8.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

TEST(Utf8, EveryScalarValueSurvivesWritingAndReading) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    std::string text;
    AppendUtf8(value, &text);
    const Utf8Step step = NextCodePoint(text);
    ASSERT_TRUE(step.valid) << static_cast<uint32_t>(value);
    ASSERT_EQ(step.length, text.size());
    ASSERT_EQ(step.value, value);
  }
}

// The slow twin: a two-byte string is well-formed only in two ways.
TEST(Utf8, ExactlyTheWellFormedTwoByteStringsAreAccepted) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      const bool good = (a < 0x80 && b < 0x80) ||
                        (a >= 0xC2 && a <= 0xDF && b >= 0x80 && b <= 0xBF);
      EXPECT_EQ(FindInvalidUtf8(text) == std::string_view::npos, good)
          << a << " " << b;
    }
  }
}

TEST(Utf8, PositionIsThatOfTheFirstBadByte) {
  EXPECT_EQ(FindInvalidUtf8("abcdefghij\xE4t"), 10u);
  EXPECT_EQ(FindInvalidUtf8("c\xE4t"), 1u);
  EXPECT_EQ(FindInvalidUtf8("\xC3\xA4\xFF"), 2u);
  EXPECT_EQ(FindInvalidUtf8(std::string_view("a\0b", 3)),
            std::string_view::npos);
}

TEST(Utf8, OverlongSurrogateAndTooLargeAreRefused) {
  for (const char* bad : {"\xC0\xAF", "\xE0\x80\x80", "\xF0\x80\x80\x80",
                          "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88"}) {
    EXPECT_EQ(FindInvalidUtf8(bad), 0u);
  }
}

// The example of the Unicode Standard, tables 3-8 to 3-11.
TEST(Utf8, EachMaximalPartBecomesOneReplacement) {
  const std::string r(kReplacementCharacter);
  size_t count = 0;
  EXPECT_EQ(ReplaceInvalidUtf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63"
                               "\x80\xBF\x64",
                               &count),
            "a" + r + r + r + "b" + r + "c" + r + r + "d");
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\xF4\x91\x92\x93\xFF\x41\x80\x42"),
            r + r + r + r + r + r + r + r + "A" + r + "B");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            r + r + r + r + "A");
}

}  // namespace
}  // namespace pipeformer
