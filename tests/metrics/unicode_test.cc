#include "lib/metrics/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipeformer {
namespace {

TEST(Unicode, DecodesAndEncodesEveryLength) {
  const std::string utf8 = "a\u00e9\u4e2d\U0001f600";
  const std::u32string text = DecodeUtf8(utf8);
  EXPECT_EQ(text, U"a\u00e9\u4e2d\U0001f600");
  EXPECT_EQ(EncodeUtf8(text), utf8);
}

TEST(Unicode, NulIsACharacter) {
  EXPECT_EQ(DecodeUtf8(std::string("a\0b", 3)), std::u32string(U"a\0b", 3));
}

TEST(Unicode, InvalidBytesBecomeReplacementCharacters) {
  EXPECT_EQ(DecodeUtf8("c\xe4t"), U"c\ufffdt");
  EXPECT_EQ(DecodeUtf8("\xff\xed\xa0\x80").find_first_not_of(U'\ufffd'),
            std::u32string::npos);
  EXPECT_EQ(DecodeUtf8("x\xe4\xb8"), U"x\ufffd");
}

TEST(Unicode, LowercasesSigmaByItsPlace) {
  EXPECT_EQ(Lowercase("ΟΔΟΣ ΣΟΦΟΣ"), "οδος σοφος");
  EXPECT_EQ(Lowercase("Σ"), "σ");
}

TEST(Unicode, LowercasesLettersThatGrow) {
  EXPECT_EQ(Lowercase("İ"), "i\u0307");
  EXPECT_EQ(Lowercase("ẞ"), "ß");
  std::string many;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    many += "İȺ";  // U+023A grows from two bytes to three.
    expected += "i\u0307ⱥ";
  }
  EXPECT_EQ(Lowercase(many), expected);
}

TEST(Unicode, WordsArePartedByUnicodeSpaceOnly) {
  const std::u32string text =
      U" a\u00a0b\u3000c\u2028d\u0085e\vf\fg\x1fh\u200bi\ufeffj\u2060k ";
  std::vector<std::u32string_view> words;
  SplitWords(text, &words);
  ASSERT_EQ(words.size(), 8u);
  EXPECT_EQ(words.back(), U"h\u200bi\ufeffj\u2060k");
}

TEST(Unicode, AsciiPunctuationHas32Marks) {
  int count = 0;
  for (char32_t c = 0; c < 0x3000; ++c) count += IsAsciiPunctuation(c);
  EXPECT_EQ(count, 32);
}

TEST(Unicode, Categories) {
  EXPECT_TRUE(IsPunctuation(U'\u2014'));
  EXPECT_FALSE(IsPunctuation(U'\u20ac'));
  EXPECT_TRUE(IsSymbol(U'\u20ac'));
  EXPECT_TRUE(IsSymbol(U'+'));
  EXPECT_TRUE(IsNumber(U'\u2167'));
  EXPECT_TRUE(IsNumber(U'\u0663'));
  EXPECT_FALSE(IsNumber(U'a'));
}

}  // namespace
}  // namespace pipeformer
