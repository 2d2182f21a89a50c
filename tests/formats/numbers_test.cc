#include "formats/numbers.h"

#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>

#include "lib/base/error.h"
#include "lib/base/random.h"

namespace pipeformer {
namespace {

TEST(Numbers, AreShort) {
  EXPECT_EQ(NumberText(0.0), "0");
  EXPECT_EQ(NumberText(1.0), "1");
  EXPECT_EQ(NumberText(-0.5f), "-0.5");
  EXPECT_EQ(NumberText(0.1f), "0.1");
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(1e-20), "1e-20");
  std::string text = "x";
  AppendNumber(0.25f, text);
  AppendNumber(0, text);
  EXPECT_EQ(text, "x0.250");
}

TEST(Numbers, ReadBackToTheSameBits) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random.Next();
    const double d = std::bit_cast<double>(bits);
    if (std::isfinite(d)) {
      EXPECT_EQ(ParseDouble(NumberText(d)), d);
    }
    const float f = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isfinite(f)) continue;
    EXPECT_EQ(static_cast<float>(ParseDouble(NumberText(f))), f);
    const float values[] = {f};
    const std::string json = NumberList(values).dump();
    EXPECT_EQ(static_cast<float>(ParseDouble(json.substr(1, json.size() - 2))),
              f);
  }
}

TEST(Numbers, ListsShowSinglePrecisionDigits) {
  const float values[] = {0.1f, -2.5f, 0, 1e-7f};
  EXPECT_EQ(NumberList(values).dump(), "[0.1,-2.5,0.0,1e-07]");
  EXPECT_EQ(NumberList({}).dump(), "[]");
}

TEST(Numbers, WhatIsNotFiniteIsNullInJson) {
  const float values[] = {std::numeric_limits<float>::quiet_NaN(), 1,
                          -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(NumberList(values).dump(), "[null,1.0,null]");
  std::string text;
  for (const float v : values) AppendNumber(v, text);
  EXPECT_EQ(text, "null1null");
}

TEST(Numbers, OnlyWholeNumbersParse) {
  EXPECT_EQ(ParseDouble("-12.5e1"), -125);
  for (const char* text : {"", " 1", "1 ", "1,5", "x", "1.5x", "--1", "0x10"}) {
    EXPECT_THROW(ParseDouble(text), Error) << text;
  }
}

// Field cases loc-output and loc-sort: a dot, whatever the locale.
TEST(Numbers, IgnoreTheLocale) {
  for (const char* name : {"de_DE.UTF-8", "it_IT.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(NumberText(1234.5), "1234.5");
    EXPECT_EQ(ParseDouble("1234.5"), 1234.5);
  }
  std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace pipeformer
