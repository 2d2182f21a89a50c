#include "formats/input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <fstream>
#include <iterator>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace io = boost::iostreams;

constexpr size_t kNoLimit = size_t{1} << 30;

std::string Compress(const std::string& text, const std::string& ending) {
  std::string bytes;
  io::filtering_ostream stream;
  if (ending == ".gz") stream.push(io::gzip_compressor());
  if (ending == ".bz2") stream.push(io::bzip2_compressor());
  if (ending == ".xz") stream.push(io::lzma_compressor());
  if (ending == ".zst") stream.push(io::zstd_compressor());
  stream.push(io::back_inserter(bytes));
  stream << text;
  stream.reset();
  return bytes;
}

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ReadFile(const std::string& path) {
  return ReadAll(*OpenInput(path), kNoLimit);
}

ExitCode CodeOf(const std::string& path) {
  try {
    ReadFile(path);
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with(path)) << error.what();
    return error.code();
  }
  return ExitCode::kDone;
}

std::string LongText() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

class CompressedInputTest : public testing::TestWithParam<const char*> {};

TEST_P(CompressedInputTest, GivesTheBytesThatWentIn) {
  const std::string ending = GetParam();
  const std::string text = LongText();
  const std::string path = WriteFile("good" + ending, Compress(text, ending));
  EXPECT_EQ(ReadFile(path), text);
  EXPECT_EQ(OpenInput(path)->name(), path);
}

TEST_P(CompressedInputTest, NothingCompressedIsNothing) {
  const std::string ending = GetParam();
  EXPECT_EQ(ReadFile(WriteFile("empty" + ending, Compress("", ending))), "");
}

TEST_P(CompressedInputTest, StreamsInOneFileFollowEachOther) {
  const std::string ending = GetParam();
  const std::string twice =
      Compress("one\n", ending) + Compress("two\n", ending);
  EXPECT_EQ(ReadFile(WriteFile("twice" + ending, twice)), "one\ntwo\n");
}

TEST_P(CompressedInputTest, CutAnywhereIsBadData) {
  const std::string ending = GetParam();
  const std::string bytes = Compress("a line\nanother line\n", ending);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto path = WriteFile("cut" + ending, bytes.substr(0, size));
    EXPECT_EQ(CodeOf(path), ExitCode::kBadData) << size;
  }
  const std::string long_bytes = Compress(LongText(), ending);
  for (size_t size = 1000; size < long_bytes.size(); size += 7001) {
    const auto path = WriteFile("cut" + ending, long_bytes.substr(0, size));
    EXPECT_EQ(CodeOf(path), ExitCode::kBadData) << size;
  }
}

TEST_P(CompressedInputTest, DamageIsBadData) {
  const std::string ending = GetParam();
  std::string bytes = Compress(LongText(), ending);
  bytes[0] ^= 1;
  EXPECT_EQ(CodeOf(WriteFile("damaged" + ending, bytes)), ExitCode::kBadData);
}

INSTANTIATE_TEST_SUITE_P(Formats, CompressedInputTest,
                         testing::Values(".gz", ".bz2", ".xz", ".zst"));

TEST(Input, MissingFileAndFolderAreInputMissing) {
  EXPECT_EQ(CodeOf(testing::TempDir() + "/no-such-file"),
            ExitCode::kInputMissing);
  EXPECT_EQ(CodeOf(testing::TempDir()), ExitCode::kInputMissing);
}

TEST(Input, NothingIsGuessedFromContent) {
  const std::string bytes = Compress("text", ".gz");
  EXPECT_EQ(ReadFile(WriteFile("plain.txt", bytes)), bytes);
}

TEST(Input, ReadAllRefusesWhatIsTooLong) {
  const std::string path = WriteFile("ten", "0123456789");
  EXPECT_EQ(ReadAll(*OpenInput(path), 10), "0123456789");
  EXPECT_THROW(ReadAll(*OpenInput(path), 9), Error);
}

TEST(Input, PipeGivesWhatIsThereAndKnowsWhenItWouldWait) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto input = OpenInput("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(input->Wait(0));
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  EXPECT_TRUE(input->Wait(0));
  char buffer[100];
  EXPECT_EQ(input->Read(buffer), 3u);
  EXPECT_FALSE(input->Wait(0));
  close(ends[1]);
  EXPECT_TRUE(input->Wait(0));
  EXPECT_EQ(input->Read(buffer), 0u);
  close(ends[0]);
}

}  // namespace
}  // namespace pipeformer
