#include "formats/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <thread>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A folder of its own for each test.
class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) {
    return (folder_ / name).string();
  }

  size_t NumFiles() {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_),
                                             fs::directory_iterator()));
  }

  void Write(const std::string& path, const std::string& text) {
    OutputFile file(path);
    file.stream() << text;
    file.Commit();
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
  const std::string text(300000, 'x');
  {
    OutputFile file(Path("out"));
    file.stream() << text << 42 << '\n';
    EXPECT_FALSE(fs::exists(Path("out")));
    file.Commit();
  }
  EXPECT_EQ(Contents(Path("out")), text + "42\n");
  EXPECT_EQ(NumFiles(), 1u);
}

// A comma for the point and dots between thousands, as in de_DE.
class German : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

// Field case loc-sort, for what leaves through this stream.
TEST_F(OutputFileTest, NumbersIgnoreTheLocale) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new German));
  OutputFile file(Path("out"));
  file.stream() << 1234.5 << ' ' << 1234567;
  file.Commit();
  std::locale::global(before);
  EXPECT_EQ(Contents(Path("out")), "1234.5 1234567");
}

TEST_F(OutputFileTest, AbandonedLeavesTheOldFileAndNothingElse) {
  Write(Path("out"), "old");
  {
    OutputFile file(Path("out"));
    file.stream() << std::string(300000, 'x');
  }
  EXPECT_EQ(Contents(Path("out")), "old");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(OutputFileTest, ReplacesAndKeepsPermissions) {
  Write(Path("out"), "old");
  ASSERT_EQ(chmod(Path("out").c_str(), 0640), 0);
  Write(Path("out"), "new");
  EXPECT_EQ(Contents(Path("out")), "new");
  struct stat facts;
  ASSERT_EQ(stat(Path("out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, FollowsSymbolicLinks) {
  Write(Path("real"), "old");
  fs::create_symlink("real", Path("link"));
  fs::create_symlink("absent", Path("dangling"));
  Write(Path("link"), "new");
  Write(Path("dangling"), "fresh");
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Contents(Path("real")), "new");
  EXPECT_EQ(Contents(Path("absent")), "fresh");
}

TEST_F(OutputFileTest, CannotCreateNamesPathAndReason) {
  for (const std::string& path : {Path("no/such/folder"), folder_.string()}) {
    try {
      OutputFile file(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kCannotCreate);
      EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
    }
  }
}

TEST_F(OutputFileTest, LongestLawfulNameWorks) {
  Write(Path(std::string(255, 'n')), "x");
  EXPECT_EQ(NumFiles(), 1u);
}

// /dev/full fails every write as a full disk does.
TEST_F(OutputFileTest, FullDiskIsAnInputOutputError) {
  OutputFile file("/dev/full");
  try {
    file.stream() << std::string(200000, 'x');
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
    EXPECT_EQ(std::string(error.what()),
              "/dev/full: cannot write: No space left on device");
  }
}

// A limit on file size stands in for a disk that fills up half-way.
TEST_F(OutputFileTest, FailedWriteLeavesTheOldFile) {
  Write(Path("out"), "old");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small = {100000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(Write(Path("out"), std::string(300000, 'x')), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(Contents(Path("out")), "old");
  EXPECT_EQ(NumFiles(), 1u);
}

TEST_F(OutputFileTest, FifoIsWrittenDirectly) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = Contents(Path("fifo")); });
  Write(Path("fifo"), "through");
  reader.join();
  EXPECT_EQ(received, "through");
  EXPECT_TRUE(fs::is_fifo(Path("fifo")));
}

// As in `tool --output /dev/fd/N >> file`: what is there stays.
TEST_F(OutputFileTest, NamedDescriptorKeepsItsPosition) {
  Write(Path("log"), "first\n");
  const int fd = open(Path("log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  Write("/dev/fd/" + std::to_string(fd), "second\n");
  close(fd);
  EXPECT_EQ(Contents(Path("log")), "first\nsecond\n");
}

TEST_F(OutputFileTest, NullDeviceIsNotReplaced) {
  Write("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// What a killed program left goes, what a running one writes stays.
TEST_F(OutputFileTest, RemovesWhatNobodyFinishes) {
  for (const char* name :
       {".unfinished-12-0", ".unfinished-12-", ".unfinished-x-1",
        "unfinished-12-0", ".unfinished-12-0.txt"}) {
    std::ofstream(Path(name)) << "x";
  }
  OutputFile running(Path("out"));
  running.stream() << "whole";
  RemoveUnfinished(Path("other"));
  EXPECT_FALSE(fs::exists(Path(".unfinished-12-0")));
  EXPECT_EQ(NumFiles(), 5u);  // four of other names and the one held
  running.Commit();
  EXPECT_EQ(Contents(Path("out")), "whole");
  RemoveUnfinished(Path("none/other"));  // where there is no folder either
}

}  // namespace
}  // namespace pipeformer
