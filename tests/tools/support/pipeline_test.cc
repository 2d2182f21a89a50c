#include "tools/support/pipeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/random.h"
#include "tools/support/queue.h"

namespace pipeformer {
namespace {

// The two ends of a pipe; the reading end as an Input by its name.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    Close();
    close(ends_[0]);
  }

  void Write(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  void Close() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  LineReader Reader() const {
    return LineReader(OpenInput("/dev/fd/" + std::to_string(ends_[0])),
                      InvalidUtf8::kError);
  }

 private:
  int ends_[2];
};

// Runs `work` over `text`; the bytes that came out, and the problems.
struct Outcome {
  std::string bytes;
  std::vector<std::string> problems;
};

Outcome RunOver(const std::string& text, const RecordWork& work,
                PipelineOptions options) {
  Pipe pipe;
  std::jthread feeder([&] {
    pipe.Write(text);
    pipe.Close();
  });
  LineReader reader = pipe.Reader();
  Outcome outcome;
  OrderedWriter writer(
      [&](Result&& result) {
        outcome.bytes += result.bytes;
        for (auto& problem : result.problems) {
          outcome.problems.push_back(problem);
        }
      },
      MaxChunksAhead(options));
  ForEachRecordInOrder(reader, work, writer, options);
  return outcome;
}

std::string NumberedLines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + "\n";
  return text;
}

// Copies the line, after a time that differs from record to record.
RecordResult SlowCopy(const InputRecord& record) {
  EXPECT_EQ(record.line.text, std::to_string(record.index));
  std::this_thread::sleep_for(
      std::chrono::microseconds(Random(record.index).Below(300)));
  return {.bytes = record.line.text + "\n"};
}

// Field case empty-chunk-order: whatever the chunks and threads.
TEST(Pipeline, OrderOutIsOrderIn) {
  const std::string text = NumberedLines(1000);
  for (const int64_t threads : {1, 2, 7}) {
    for (const uint64_t chunk : {1, 3, 512}) {
      const Outcome outcome =
          RunOver(text, SlowCopy, {.threads = threads, .chunk_records = chunk});
      EXPECT_EQ(outcome.bytes, text);
    }
  }
}

TEST(Pipeline, NothingInNothingOut) {
  EXPECT_EQ(RunOver("", SlowCopy, {.threads = 2}).bytes, "");
}

// Field case pipe-latency.
TEST(Pipeline, ALoneLineIsAnsweredBeforeTheNextComes) {
  Pipe in;
  Pipe out;
  LineReader answers = out.Reader();
  std::jthread filter([&] {
    LineReader reader = in.Reader();
    OrderedWriter writer([&](Result&& result) { out.Write(result.bytes); }, 8);
    ForEachRecordInOrder(
        reader,
        [](const InputRecord& record) {
          return RecordResult{.bytes = record.line.text + "\n"};
        },
        writer, {.threads = 2});
    out.Close();
  });
  Line line;
  for (const char* text : {"one", "two", "three"}) {
    // Half of the next line must not hold back this one.
    in.Write(std::string(text) + "\nhalf ");
    ASSERT_TRUE(answers.WaitForLine(10000));
    ASSERT_TRUE(answers.Next(&line));
    EXPECT_TRUE(line.text.ends_with(text));
  }
  in.Close();
  ASSERT_TRUE(answers.Next(&line));
  EXPECT_EQ(line.text, "half ");
}

RecordResult BadAtSeven(const InputRecord& record) {
  RecordResult result = {.bytes = record.line.text + "\n"};
  if (record.index % 10 == 7) {
    result = {.bytes = "\n", .problem = "bad " + record.line.text};
  }
  return result;
}

TEST(Pipeline, BadRecordsKeepTheirPlace) {
  const Outcome outcome = RunOver(NumberedLines(19), BadAtSeven,
                                  {.threads = 2, .chunk_records = 4});
  EXPECT_EQ(outcome.bytes,
            "0\n1\n2\n3\n4\n5\n6\n\n8\n9\n10\n11\n12\n13\n14\n15\n16\n\n18\n");
  EXPECT_EQ(outcome.problems, (std::vector<std::string>{"bad 7", "bad 17"}));
}

TEST(Pipeline, StrictWritesAllBeforeTheBadRecord) {
  Pipe pipe;
  pipe.Write(NumberedLines(100));  // and never closed: the run ends by itself
  LineReader reader = pipe.Reader();
  std::string bytes;
  OrderedWriter writer(
      [&](Result&& result) {
        bytes += result.bytes;
        if (!result.problems.empty()) ThrowBadData(result.problems[0]);
      },
      8);
  const PipelineOptions options = {
      .threads = 2, .chunk_records = 5, .stop_at_bad_record = true};
  EXPECT_THROW(ForEachRecordInOrder(reader, BadAtSeven, writer, options),
               Error);
  EXPECT_EQ(bytes, NumberedLines(7));
}

TEST(Pipeline, ExceptionInWorkEndsTheRunAfterTheRecordsBefore) {
  Pipe pipe;
  pipe.Write(NumberedLines(100));
  LineReader reader = pipe.Reader();
  std::string bytes;
  OrderedWriter writer([&](Result&& result) { bytes += result.bytes; }, 8);
  const RecordWork work = [](const InputRecord& record) -> RecordResult {
    if (record.index == 42) throw std::runtime_error("fault");
    return {.bytes = record.line.text + "\n"};
  };
  EXPECT_THROW(ForEachRecordInOrder(reader, work, writer,
                                    {.threads = 3, .chunk_records = 5}),
               std::runtime_error);
  EXPECT_EQ(bytes, NumberedLines(42));
}

TEST(Pipeline, FaultOfTheReaderComesAfterTheRecordsBefore) {
  const std::string path = testing::TempDir() + "/long";
  std::ofstream(path) << "a\nb\n" << std::string(1000, 'x') << "\n";
  std::string bytes;
  LineReader limited(OpenInput(path), InvalidUtf8::kError, 100);
  OrderedWriter writer([&](Result&& result) { bytes += result.bytes; }, 8);
  const RecordWork work = [](const InputRecord& record) -> RecordResult {
    return {.bytes = record.line.text + "\n"};
  };
  EXPECT_THROW(ForEachRecordInOrder(limited, work, writer, {.threads = 2}),
               Error);
  EXPECT_EQ(bytes, "a\nb\n");
}

// Field case pipe-sigpipe-global: signals are the business of ToolMain.
TEST(Pipeline, LeavesSignalsAlone) {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction old = {};
  sigaction(SIGPIPE, &ignore, &old);
  EXPECT_EQ(RunOver("0\n1\n", SlowCopy, {.threads = 2}).bytes, "0\n1\n");
  struct sigaction after = {};
  sigaction(SIGPIPE, &old, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(OrderedWriter, AnyOrderOfEmissionGivesTheSameOutput) {
  std::vector<int> order = {0, 1, 2, 3, 4, 5};
  do {
    std::string bytes;
    OrderedWriter writer([&](Result&& result) { bytes += result.bytes; }, 8);
    for (const int index : order) {
      writer.Emit(index, {.bytes = std::to_string(index)});
    }
    writer.Finish();
    ASSERT_EQ(bytes, "012345");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(OrderedWriter, AdmitBoundsWhatIsUnderWay) {
  OrderedWriter writer([](Result&&) {}, 2);
  EXPECT_TRUE(writer.Admit(0));
  EXPECT_TRUE(writer.Admit(1));
  bool admitted = false;
  std::jthread reader([&] {
    EXPECT_TRUE(writer.Admit(2));
    admitted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  writer.Emit(1, {});  // not the first one: still no room
  writer.Emit(0, {});
  reader.join();
  EXPECT_TRUE(admitted);
}

TEST(OrderedWriter, AGapIsAFault) {
  OrderedWriter writer([](Result&&) {}, 2);
  writer.Emit(1, {});
  EXPECT_THROW(writer.Finish(), std::logic_error);
}

TEST(BoundedQueue, WaitsForRoomAndForItems) {
  BoundedQueue<int> queue(2);
  EXPECT_FALSE(queue.TryPop().has_value());
  int64_t sum = 0;
  std::jthread consumer([&] {
    while (const auto item = queue.Pop()) sum += *item;
  });
  for (int i = 1; i <= 1000; ++i) EXPECT_TRUE(queue.Push(i));
  queue.Close();
  consumer.join();
  EXPECT_EQ(sum, 500500);
  EXPECT_FALSE(queue.Push(1));
}

}  // namespace
}  // namespace pipeformer
