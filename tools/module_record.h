// Records for a module, as frames of tensors or as JSON-lines with nested
// lists: the tensors that a module takes, and the rest, which passes through.
#ifndef PIPEFORMER_TOOLS_MODULE_RECORD_H_
#define PIPEFORMER_TOOLS_MODULE_RECORD_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "formats/records.h"
#include "formats/tensor_stream.h"
#include "formats/tensor_view.h"
#include "tools/module_call.h"

namespace pipeformer {

struct ModuleRecord {
  Json rest = Json::object();  // `id` and what is no tensor of any module
  TensorCollection tensors;
  std::deque<OwnedTensor> owned;  // what `tensors` of a line point to
};

// Reads the record on a line of JSON, number `index` of its stream. Throws
// Error (65) on what is no record or no nested list, and on an error record;
// `record` then has an `id` nevertheless.
void ReadLine(const std::string& line, const std::string& place, uint64_t index,
              ModuleRecord& record);

// Reads the record of a frame: its metadata are the rest. Requires: `frame`
// outlives the record. Throws Error (65) with the `error` that the metadata
// bring.
void ReadFrame(const TensorFrame& frame, const std::string& place,
               ModuleRecord& record);

// kJson     a line, results as nested lists
// kTensors  a frame; what is rest becomes text in its metadata
enum class ModuleOutput { kJson, kTensors };

// The record of results: they replace keys of the rest that have their names.
std::string FormatResults(const ModuleRecord& record,
                          const std::vector<NamedResult>& results,
                          ModuleOutput format);

// The answer to a blank line, number `index`: a blank line, or a frame without
// tensors.
std::string FormatBlank(uint64_t index, ModuleOutput format);

// What stands in the place of a record that could not be processed: an error
// record, or a frame without tensors whose metadata hold `error`.
std::string FormatProblem(const ModuleRecord& record,
                          const std::string& problem, int64_t line,
                          ModuleOutput format);

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODULE_RECORD_H_
