#include "formats/spill_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/formats/test_files.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

TEST(SpillFile, GivesBackWhatWasWrittenAndLeavesNoName) {
  const std::string folder = Path("spill");
  fs::create_directory(folder);
  SpillFile file(folder + "/output");
  std::vector<int32_t> numbers(100000);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int32_t>(i);
    file.Write(std::as_bytes(std::span(numbers).subspan(i, 1)));
  }
  const FileBytes mapped = file.Map();
  const auto wanted = std::as_bytes(std::span(numbers));
  EXPECT_TRUE(std::ranges::equal(mapped.bytes, wanted));
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST(SpillFile, MayBeEmpty) {
  SpillFile file(Path("output"));
  EXPECT_TRUE(file.Map().bytes.empty());
}

// Standard output, say: /dev takes no file.
TEST(SpillFile, GoesElsewhereWhereTheFolderTakesNone) {
  SpillFile file("/nowhere/output");
  const std::byte one{1};
  file.Write(std::span(&one, 1));
  EXPECT_EQ(file.Map().bytes.size(), 1u);
}

}  // namespace
}  // namespace pipeformer
