// The simple form of a filter: each line is worked on by itself, by as many
// threads as asked for, and the results leave in the order of the lines. The
// reader hands on what it has whenever it would have to wait, so that a lone
// line on a pipe is answered at once, and takes many lines at a time where
// they are there. Memory is bounded whatever the length of the input.
#ifndef PIPEFORMER_TOOLS_SUPPORT_PIPELINE_H_
#define PIPEFORMER_TOOLS_SUPPORT_PIPELINE_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/line_reader.h"
#include "tools/support/ordered_writer.h"

namespace pipeformer {

struct InputRecord {
  uint64_t index = 0;  // from 0
  Line line;
  std::string_view stream;  // the name of the input

  // `file:line`, for messages.
  std::string Place() const;
};

struct RecordResult {
  std::string bytes = {};    // for the output, its line ends included
  std::string problem = {};  // not empty: the record was bad, and why
  std::exception_ptr failure = nullptr;  // what ends the run here
};

// Called from several threads at once. An exception ends the run, after the
// records before have been written.
using RecordWork = std::function<RecordResult(const InputRecord&)>;

// The same for records that are worked on together, as a network does: one
// result each, in order. Used by one thread; MakeChunkWork gives each thread
// one of its own.
using ChunkWork =
    std::function<std::vector<RecordResult>(std::span<const InputRecord>)>;
using MakeChunkWork = std::function<ChunkWork()>;

struct PipelineOptions {
  int64_t threads = 1;
  uint64_t chunk_records = 512;     // lines handed to a thread at once, at most
  size_t chunk_bytes = 1 << 16;     // and their bytes, unless one is longer
  bool stop_at_bad_record = false;  // nothing is written from it on
};

// How many chunks may be under way: the max_ahead of the writer.
uint64_t MaxChunksAhead(const PipelineOptions& options);

// Waits until `wait`, given a time in milliseconds, says that there is input or
// its end; false when the run has failed.
bool WaitForInput(const std::function<bool(int)>& wait,
                  const OrderedWriter& writer);

// The same for a line.
bool WaitForInput(LineReader& reader, const OrderedWriter& writer);

// Works on every line of `reader` and gives the results to `writer`, one
// Result per chunk. Throws what reading, working or writing threw.
void ForEachChunkInOrder(LineReader& reader, const MakeChunkWork& make_work,
                         OrderedWriter& writer, const PipelineOptions& options);
void ForEachRecordInOrder(LineReader& reader, const RecordWork& work,
                          OrderedWriter& writer,
                          const PipelineOptions& options);

// The same with the tool's input, output and options. `write` takes the bytes
// in order, in place of the output.
void FilterLines(Tool& tool, const RecordWork& work,
                 const std::function<void(std::string_view)>& write = nullptr);
void FilterChunks(Tool& tool, const MakeChunkWork& make_work,
                  uint64_t chunk_records,
                  const std::function<void(std::string_view)>& write = nullptr);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUPPORT_PIPELINE_H_
