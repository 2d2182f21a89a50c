#include "formats/pharaoh.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

TEST(Pharaoh, ReadsLinks) {
  EXPECT_EQ(ParsePharaoh("0-0 1-2 12-3", "f:1"),
            (std::vector<Link>{{0, 0}, {1, 2}, {12, 3}}));
  EXPECT_EQ(ParsePharaoh("  1-0 \t", "f:1"), (std::vector<Link>{{1, 0}}));
  EXPECT_TRUE(ParsePharaoh("", "f:1").empty());
  EXPECT_TRUE(ParsePharaoh(" ", "f:1").empty());
}

TEST(Pharaoh, RefusesAnythingElseWithItsPlace) {
  for (const char* bad : {"0", "0-", "-1", "0-1-2", "0?1", "0:1", "a-b", "0--1",
                          "+0-1", "0-1x", "9999999999-0", "0-99999999999"}) {
    try {
      ParsePharaoh(std::string("0-0 ") + bad, "f:3");
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadData);
      EXPECT_TRUE(std::string(error.what()).starts_with("f:3: ")) << bad;
    }
  }
}

}  // namespace
}  // namespace pipeformer
