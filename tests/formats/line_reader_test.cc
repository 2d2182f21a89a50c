#include "formats/line_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// Gives its bytes in parts, one a read; an empty part is a wait.
class PartsInput : public Input {
 public:
  explicit PartsInput(std::vector<std::string> parts)
      : Input("parts"), parts_(std::move(parts)) {}

  size_t Read(std::span<char> dst) override {
    while (next_ < parts_.size() && parts_[next_].empty()) ++next_;
    if (next_ == parts_.size()) return 0;
    std::string& part = parts_[next_];
    const size_t count = std::min(dst.size(), part.size());
    std::memcpy(dst.data(), part.data(), count);
    part.erase(0, count);
    if (part.empty()) ++next_;
    return count;
  }

  bool Wait(int) override {
    return next_ == parts_.size() || !parts_[next_].empty();
  }

 private:
  std::vector<std::string> parts_;
  size_t next_ = 0;
};

LineReader Reader(std::vector<std::string> parts,
                  InvalidUtf8 policy = InvalidUtf8::kError,
                  size_t max_line_bytes = kMaxLineBytes) {
  return LineReader(std::make_unique<PartsInput>(std::move(parts)), policy,
                    max_line_bytes);
}

std::vector<std::string> Lines(std::vector<std::string> parts) {
  LineReader reader = Reader(std::move(parts));
  std::vector<std::string> lines;
  Line line;
  while (reader.Next(&line)) {
    EXPECT_EQ(line.error, "");
    lines.push_back(line.text);
    EXPECT_EQ(line.number, static_cast<int64_t>(lines.size()));
  }
  EXPECT_FALSE(reader.Next(&line));
  return lines;
}

using Texts = std::vector<std::string>;

// Field case lines-u2028-extra.
TEST(LineReader, OnlyLineFeedEndsALine) {
  const std::string first =
      "a\u2028b\u2029c\u0085d\x0B"
      "e\x0C"
      "f\x1Cg\x1Dh\x1Ei";
  EXPECT_EQ(Lines({first + "\nnext\n"}), (Texts{first, "next"}));
}

// Field cases lines-crlf-corpus and lines-inner-cr.
TEST(LineReader, OneCarriageReturnBeforeLineFeedIsDropped) {
  EXPECT_EQ(Lines({"the cat\r\nthe dog\r\n"}), (Texts{"the cat", "the dog"}));
  EXPECT_EQ(Lines({"the cat\rsat\na\r\r\nlast\r"}),
            (Texts{"the cat\rsat", "a\r", "last\r"}));
}

// Field case lines-no-final-newline.
TEST(LineReader, LastLineWithoutLineFeedCounts) {
  EXPECT_EQ(Lines({"green river"}), (Texts{"green river"}));
  EXPECT_EQ(Lines({"a\n\n"}), (Texts{"a", ""}));
  EXPECT_EQ(Lines({}), Texts{});
  EXPECT_EQ(Lines({"\n\n\n"}), (Texts{"", "", ""}));
}

// Field case enc-bom-score.
TEST(LineReader, ByteOrderMarkIsDroppedAtTheStartOnly) {
  EXPECT_EQ(Lines({"\uFEFFa\n\uFEFFb\n"}), (Texts{"a", "\uFEFFb"}));
  EXPECT_EQ(Lines({"\uFEFF"}), (Texts{""}));
}

// Field case enc-nul.
TEST(LineReader, NulIsAnOrdinaryCharacter) {
  EXPECT_EQ(Lines({std::string("a\0b\nok\n", 7)}),
            (Texts{std::string("a\0b", 3), "ok"}));
}

TEST(LineReader, CutsBetweenReadsChangeNothing) {
  const std::string text = "\uFEFFein\r\n\nz\u00FCge\nlast";
  const Texts whole = Lines({text});
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      EXPECT_EQ(
          Lines({text.substr(0, i), text.substr(i, j - i), text.substr(j)}),
          whole);
    }
  }
}

TEST(LineReader, LongLinesSurviveTheGrowthOfTheBuffer) {
  const std::string long_line(300000, 'x');
  EXPECT_EQ(Lines({"a\n" + long_line + "\nb\n" + long_line}),
            (Texts{"a", long_line, "b", long_line}));
}

// Field case enc-invalid-utf8-train.
TEST(LineReader, InvalidUtf8IsABadLineThatNamesFileLineAndByte) {
  LineReader reader = Reader({"ok\nc\xE4t\nok\n"});
  Line line;
  ASSERT_TRUE(reader.Next(&line));
  ASSERT_TRUE(reader.Next(&line));
  EXPECT_EQ(line.error,
            "parts:2: byte 2 of the line (0xE4) is not UTF-8; convert the "
            "text, or use --invalid-utf8 replace");
  ASSERT_TRUE(reader.Next(&line));
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.text, "ok");
}

TEST(LineReader, ReplacementCountsWhatItReplaces) {
  LineReader reader = Reader({"c\xE4t\xFF\n"}, InvalidUtf8::kReplace);
  Line line;
  ASSERT_TRUE(reader.Next(&line));
  EXPECT_EQ(line.text, "c\uFFFDt\uFFFD");
  EXPECT_EQ(line.error, "");
  EXPECT_EQ(line.num_replaced, 2u);
}

TEST(LineReader, LineBeyondTheLimitIsRefused) {
  Line line;
  LineReader fits = Reader({"12345\n12345\n"}, InvalidUtf8::kError, 5);
  EXPECT_TRUE(fits.Next(&line));
  EXPECT_TRUE(fits.Next(&line));
  LineReader too_long = Reader({"1\n123456\n"}, InvalidUtf8::kError, 5);
  EXPECT_TRUE(too_long.Next(&line));
  EXPECT_THROW(too_long.Next(&line), Error);
  LineReader endless =
      Reader(Texts(100, std::string(1 << 16, 'x')), InvalidUtf8::kError, 100);
  EXPECT_THROW(endless.Next(&line), Error);
}

TEST(LineReader, KnowsWhetherALineCanBeHadAtOnce) {
  LineReader reader = Reader({"one\ntwo\nthr", "", "ee\n"});
  Line line;
  EXPECT_TRUE(reader.WaitForLine(0));
  EXPECT_TRUE(reader.Next(&line));
  EXPECT_TRUE(reader.WaitForLine(0));
  EXPECT_TRUE(reader.Next(&line));
  EXPECT_FALSE(reader.WaitForLine(0));  // half a line is no line
  EXPECT_TRUE(reader.Next(&line));
  EXPECT_EQ(line.text, "three");
  EXPECT_TRUE(reader.WaitForLine(0));  // the end comes at once, too
  EXPECT_FALSE(reader.Next(&line));
}

}  // namespace
}  // namespace pipeformer
