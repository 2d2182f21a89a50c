#include "formats/records.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <locale>

namespace pipeformer {
namespace {

std::string ErrorOf(const std::string& line) {
  try {
    ParseRecord(line, "stdin:2");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "no error";
}

TEST(Records, UnknownKeysPassThroughInTheirOrder) {
  const std::string line =
      R"({"z":1,"text":"a","m":{"k":[1,2.5,null,true,"x"]},"a":-0.25})";
  EXPECT_EQ(DumpRecord(ParseRecord(line, "p")), line + "\n");
  Json record = WithId(ParseRecord(line, "p"), 7);
  SetSentence({.text = "a", .tokens = {"t"}, .ids = {5}, .offsets = {{0, 1}}},
              &record);
  EXPECT_EQ(
      DumpRecord(record),
      R"({"id":7,"z":1,"text":"a","m":{"k":[1,2.5,null,true,"x"]},"a":-0.25,)"
      R"("tokens":["t"],"ids":[5],"offsets":[[0,1]]})"
      "\n");
}

TEST(Records, OwnIdStays) {
  EXPECT_EQ(WithId(ParseRecord(R"({"a":1,"id":"x"})", "p"), 7).dump(),
            R"({"a":1,"id":"x"})");
  EXPECT_NE(ErrorOf(R"({"id":1.5})").find("an integer or a string, not 1.5"),
            std::string::npos);
}

// Field case js-bad-line, and what else is no object on one line.
TEST(Records, BadLinesNameTheirPlaceAndReason) {
  for (const char* line :
       {"", " ", "{", "[1]", "3", "null", "\"text\"", "{\"a\":1} x",
        "{\"a\":NaN}", "{'a':1}", "{\"a\":1e999}", "{\"a\":1,}",
        "{\"a\":\"tab\there\"}"}) {
    EXPECT_TRUE(ErrorOf(line).starts_with("stdin:2: ")) << ErrorOf(line);
  }
  EXPECT_EQ(ErrorOf("[1]"), "stdin:2: a record must be a JSON object, not [1]");
  EXPECT_TRUE(
      ErrorOf("{\"a\":1,}")
          .starts_with("stdin:2: not a JSON object on one line: byte 8: "))
      << ErrorOf("{\"a\":1,}");
}

// Field case js-escapes.
TEST(Records, EscapesComeBackEqual) {
  const Json record = ParseRecord(
      R"({"text":"a\u2028b\u0000c\ud83d\ude00 \"q\" \\ /\n"})", "p");
  const std::string text = SentenceText(record, "p");
  EXPECT_EQ(text, std::string("a\u2028b\0c\U0001F600 \"q\" \\ /\n", 20));
  const std::string dumped = DumpRecord(record);
  EXPECT_EQ(std::count(dumped.begin(), dumped.end(), '\n'), 1);
  EXPECT_EQ(SentenceText(ParseRecord(dumped, "p"), "p"), text);
}

TEST(Records, LoneSurrogatesAreRefused) {
  for (const char* line :
       {R"({"text":"\ud83d"})", R"({"text":"\ude00"})", R"({"text":"\ud83dx"})",
        R"({"text":"\ud83d\ud83d"})"}) {
    EXPECT_NE(ErrorOf(line), "no error") << line;
  }
}

TEST(Records, DeepNestingIsRefused) {
  const auto nested = [](size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') +
           std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(ErrorOf(nested(kMaxRecordDepth)), "no error");
  EXPECT_NE(ErrorOf(nested(kMaxRecordDepth + 1)).find("limit of 100"),
            std::string::npos);
  EXPECT_NE(ErrorOf(std::string(1000000, '[')), "no error");
  EXPECT_EQ(ErrorOf("{\"a\":\"" + std::string(1000, '[') + "\\\"[\"}"),
            "no error");
}

// Field case js-invalid-utf8.
TEST(Records, WritingNeverFails) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DumpRecord({{"a", nan}, {"b", infinity}, {"c", -0.5}}),
            "{\"a\":null,\"b\":null,\"c\":-0.5}\n");
  EXPECT_EQ(DumpRecord({{"a", "\xF0"}, {"tokens", {"<0xF0>"}}}),
            "{\"a\":\"\uFFFD\",\"tokens\":[\"<0xF0>\"]}\n");
}

// Field cases loc-output and loc-sort.
TEST(Records, LocaleChangesNothing) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale old =
      std::locale::global(std::locale(std::locale::classic(), new Comma));
  EXPECT_EQ(DumpRecord({{"a", 1234.5}, {"b", 1234567}}),
            "{\"a\":1234.5,\"b\":1234567}\n");
  EXPECT_EQ(ParseRecord("{\"a\":1234.5}", "p")["a"], 1234.5);
  EXPECT_EQ(FormatIds({1234567}), "1234567");
  std::locale::global(old);
}

TEST(Records, ErrorRecordsHaveTheirKeys) {
  const Json record = ErrorRecord("x", "stdin:3: wrong", 3);
  EXPECT_EQ(record.dump(),
            R"({"id":"x","error":{"code":65,"message":"stdin:3: wrong",)"
            R"("line":3}})");
  EXPECT_TRUE(IsErrorRecord(record));
  EXPECT_FALSE(IsErrorRecord(ParseRecord(R"({"error":"a word"})", "p")));
}

TEST(Records, SentencesAreObjectsOrStrings) {
  const Json pair =
      ParseRecord(R"({"source":"a","target":{"text":"b","ids":[1,2]}})", "p");
  EXPECT_TRUE(IsPairRecord(pair));
  EXPECT_EQ(SentenceText(pair["source"], "p"), "a");
  EXPECT_EQ(SentenceText(pair["target"], "p"), "b");
  EXPECT_EQ(SentenceIds(pair["target"], "p"), (std::vector<int32_t>{1, 2}));
  EXPECT_FALSE(SentenceIds(pair["source"], "p").has_value());
  EXPECT_FALSE(SentenceTokens(pair["target"], "p").has_value());
}

TEST(Records, WrongTypesAreRefused) {
  const auto parse = [](const char* line) { return ParseRecord(line, "p"); };
  EXPECT_THROW(SentenceText(parse("{}"), "p"), Error);
  EXPECT_THROW(SentenceText(parse(R"({"text":1})"), "p"), Error);
  EXPECT_THROW(SentenceText(Json(3), "p"), Error);
  EXPECT_THROW(SentenceTokens(parse(R"({"tokens":"a b"})"), "p"), Error);
  EXPECT_THROW(SentenceTokens(parse(R"({"tokens":[1]})"), "p"), Error);
  for (const char* ids : {"3", "[1.5]", "[-1]", "[2147483648]", "[\"1\"]",
                          "[99999999999999999999]"}) {
    const std::string line = std::string("{\"ids\":") + ids + "}";
    EXPECT_THROW(SentenceIds(parse(line.c_str()), "p"), Error) << ids;
  }
}

TEST(Records, PairsHaveExactlyOneTab) {
  const TextPair pair = SplitPair("the cat\tdie Katze", "p");
  EXPECT_EQ(pair.source, "the cat");
  EXPECT_EQ(pair.target, "die Katze");
  EXPECT_EQ(SplitPair("\t", "p").source, "");
  for (const char* line : {"", "no tab", "a\tb\tc"}) {
    EXPECT_THROW(SplitPair(line, "p"), Error) << line;
  }
  try {
    SplitPair("a\tb\tc", "corpus.tsv:4");
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("corpus.tsv:4: 2 tabs, a pair has exactly 1"));
  }
}

TEST(Records, IdsAreNumbersAndSpaces) {
  EXPECT_EQ(ParseIds("5 12  4 ", "p"), (std::vector<int32_t>{5, 12, 4}));
  EXPECT_EQ(ParseIds("", "p"), std::vector<int32_t>{});
  EXPECT_EQ(FormatIds({5, 12, 4}), "5 12 4");
  EXPECT_EQ(FormatIds({}), "");
  for (const char* text : {"a", "1.5", "-1", "1,2", "99999999999", "1\t2"}) {
    EXPECT_THROW(ParseIds(text, "p"), Error) << text;
  }
}

}  // namespace
}  // namespace pipeformer
