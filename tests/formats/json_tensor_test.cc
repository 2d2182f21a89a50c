#include "formats/json_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

std::string MessageOf(const std::string& lists) {
  try {
    TensorFromJson(Json::parse(lists), "x");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "accepted";
}

TEST(TensorFromJson, NumbersMakeSinglePrecision) {
  const OwnedTensor tensor =
      TensorFromJson(Json::parse("[[1, -2.5, 3e2], [0, 7, 0.1]]"), "x");
  EXPECT_EQ(tensor.dtype, DType::kF32);
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 3}));
  const auto elements = tensor.View().Elements<float>();
  EXPECT_EQ(std::vector(elements.begin(), elements.end()),
            (std::vector<float>{1, -2.5, 300, 0, 7, 0.1f}));
}

TEST(TensorFromJson, TrueAndFalseMakeBool) {
  const OwnedTensor tensor =
      TensorFromJson(Json::parse("[[[true]], [[false]]]"), "x");
  EXPECT_EQ(tensor.dtype, DType::kBool);
  EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(tensor.bytes, (std::vector{std::byte{1}, std::byte{0}}));
}

TEST(TensorFromJson, InfinityIsAString) {
  const OwnedTensor tensor = TensorFromJson(
      Json::parse(R"(["Infinity", "-Infinity", "NaN", 1])"), "x");
  const auto elements = tensor.View().Elements<float>();
  EXPECT_EQ(elements[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(elements[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(elements[2]));
}

TEST(TensorFromJson, AnEmptyListHasNoElements) {
  EXPECT_EQ(TensorFromJson(Json::parse("[]"), "x").shape,
            (std::vector<int64_t>{0}));
}

TEST(TensorFromJson, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(MessageOf("[[1, 2], [3]]"),
            "x[1] is a list of 1, wanted a list of 2 as before it");
  EXPECT_EQ(MessageOf("[[1, 2], 3]"),
            "x[1] is 3, wanted a list of 2 as before it");
  EXPECT_EQ(MessageOf("[[1, [2]]]"), "x[0][1] is a list of 1, wanted a number");
  EXPECT_EQ(MessageOf("[[1, null]]"), "x[0][1] is null, wanted a number");
  EXPECT_EQ(MessageOf("[true, 1]"), "x[1] is 1, wanted true or false");
  EXPECT_EQ(MessageOf("1"), "x is 1, wanted nested lists");
  EXPECT_EQ(MessageOf("{\"a\": []}"), "x is {\"a\":[]}, wanted nested lists");
}

TEST(AppendTensorJson, IsTheWayBack) {
  const std::string lists = "[[[1,-2.5],[0.1,1e-09]]]";
  std::string text;
  AppendTensorJson(TensorFromJson(Json::parse(lists), "x").View(), text);
  EXPECT_EQ(text, lists);
}

TEST(AppendTensorJson, WhatIsNotFiniteIsNull) {
  const std::vector<float> values{1, NAN, INFINITY};
  std::string text;
  AppendTensorJson(ViewOf(std::span(values), {3}), text);
  EXPECT_EQ(text, "[1,null,null]");
}

}  // namespace
}  // namespace pipeformer
