#include "tools/support/pipeline.h"

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "tools/support/queue.h"

namespace pipeformer {
namespace {

// How often a reader that waits for input looks whether the run has failed.
constexpr int kWaitMilliseconds = 50;

struct Chunk {
  uint64_t index = 0;
  std::vector<InputRecord> records;
};

// Reads lines until the chunk is full, or there is none without waiting.
// False at the end of input, where the chunk may still hold lines.
bool FillChunk(LineReader& reader, const PipelineOptions& options,
               uint64_t* num_records, Chunk* chunk) {
  size_t bytes = 0;
  do {
    InputRecord record;
    if (!reader.Next(&record.line)) return false;
    record.index = (*num_records)++;
    record.stream = reader.name();
    bytes += record.line.text.size();
    chunk->records.push_back(std::move(record));
    if (chunk->records.size() >= options.chunk_records) return true;
    if (bytes >= options.chunk_bytes) return true;
  } while (reader.WaitForLine(0));
  return true;
}

Result WorkOn(const Chunk& chunk, const ChunkWork& work,
              const PipelineOptions& options) {
  Result result;
  try {
    for (RecordResult& one : work(chunk.records)) {
      result.failure = one.failure;
      if (result.failure) break;
      const bool bad = !one.problem.empty();
      if (bad) result.problems.push_back(std::move(one.problem));
      if (bad && options.stop_at_bad_record) break;
      result.bytes += one.bytes;
    }
  } catch (...) {
    result.failure = std::current_exception();
  }
  return result;
}

// Work on single records as work on chunks. A record's exception comes after
// the records before it, so that they are still written.
MakeChunkWork OneByOne(const RecordWork& work) {
  return [&work]() -> ChunkWork {
    return [&work](std::span<const InputRecord> records) {
      std::vector<RecordResult> results;
      for (const InputRecord& record : records) {
        try {
          results.push_back(work(record));
        } catch (...) {
          results.push_back({.failure = std::current_exception()});
          break;
        }
      }
      return results;
    };
  };
}

// One worker, until the queue is closed and empty.
void Work(const MakeChunkWork& make_work, BoundedQueue<Chunk>& queue,
          OrderedWriter& writer, const PipelineOptions& options) {
  try {
    const ChunkWork work = make_work();
    while (const auto chunk = queue.Pop()) {
      writer.Emit(chunk->index, WorkOn(*chunk, work, options));
    }
  } catch (...) {
    writer.Fail(std::current_exception());
    queue.Close();
  }
}

// Gives the reader's lines to the queue; what the reader threw, or null.
std::exception_ptr ReadInto(LineReader& reader, OrderedWriter& writer,
                            const PipelineOptions& options,
                            BoundedQueue<Chunk>& queue) {
  uint64_t num_records = 0;
  uint64_t index = 0;
  bool more = true;
  Chunk chunk;
  std::exception_ptr failure;
  const auto hand_on = [&] {
    if (chunk.records.empty()) return;
    chunk.index = index++;
    if (writer.Admit(chunk.index)) queue.Push(std::exchange(chunk, {}));
  };
  try {
    while (more && WaitForInput(reader, writer)) {
      more = FillChunk(reader, options, &num_records, &chunk);
      hand_on();
      more = more && !writer.Failed();
    }
  } catch (...) {
    failure = std::current_exception();
    hand_on();  // the lines before the fault
  }
  return failure;
}

}  // namespace

std::string InputRecord::Place() const {
  return std::string(stream) + ":" + std::to_string(line.number);
}

uint64_t MaxChunksAhead(const PipelineOptions& options) {
  return 4 * static_cast<uint64_t>(options.threads) + 4;
}

bool WaitForInput(const std::function<bool(int)>& wait,
                  const OrderedWriter& writer) {
  while (!wait(kWaitMilliseconds)) {
    if (writer.Failed()) return false;
  }
  return true;
}

bool WaitForInput(LineReader& reader, const OrderedWriter& writer) {
  return WaitForInput([&](int ms) { return reader.WaitForLine(ms); }, writer);
}

void ForEachChunkInOrder(LineReader& reader, const MakeChunkWork& make_work,
                         OrderedWriter& writer,
                         const PipelineOptions& options) {
  BoundedQueue<Chunk> queue(MaxChunksAhead(options));
  std::exception_ptr failure;
  {
    std::vector<std::jthread> workers;
    const QueueCloser closer(queue);  // before the workers are joined
    for (int64_t i = 0; i < options.threads; ++i) {
      workers.emplace_back([&] { Work(make_work, queue, writer, options); });
    }
    failure = ReadInto(reader, writer, options, queue);
  }
  writer.Finish();
  if (failure) std::rethrow_exception(failure);
}

void ForEachRecordInOrder(LineReader& reader, const RecordWork& work,
                          OrderedWriter& writer,
                          const PipelineOptions& options) {
  ForEachChunkInOrder(reader, OneByOne(work), writer, options);
}

void FilterLines(Tool& tool, const RecordWork& work,
                 const std::function<void(std::string_view)>& write) {
  FilterChunks(tool, OneByOne(work), PipelineOptions().chunk_records, write);
}

void FilterChunks(Tool& tool, const MakeChunkWork& make_work,
                  uint64_t chunk_records,
                  const std::function<void(std::string_view)>& write) {
  const PipelineOptions options = {.threads = tool.options().threads,
                                   .chunk_records = chunk_records,
                                   .stop_at_bad_record = tool.options().strict};
  LineReader reader = tool.OpenLines();
  tool.output();  // fails before the work, not after it
  OrderedWriter writer(tool, MaxChunksAhead(options), write);
  const MakeChunkWork counted = [&]() -> ChunkWork {
    return [&tool, work = make_work()](std::span<const InputRecord> records) {
      for (const InputRecord& record : records) {
        tool.CountReplaced(record.line.num_replaced);
      }
      return work(records);
    };
  };
  ForEachChunkInOrder(reader, counted, writer, options);
}

}  // namespace pipeformer
