// The smallest program on the shell of the tools: copies its lines. The line
// `bad` is a bad record, the line `fault` an internal fault.
#include <stdexcept>

#include "tools/support/pipeline.h"
#include "tools/support/tool_main.h"

namespace pipeformer {
namespace {

RecordResult Copy(const InputRecord& record) {
  const Line& line = record.line;
  if (line.text == "fault") throw std::logic_error("asked for");
  if (!line.error.empty()) return {.bytes = "\n", .problem = line.error};
  if (line.text == "bad") {
    return {.bytes = "\n", .problem = record.Place() + ": is bad"};
  }
  return {.bytes = line.text + "\n"};
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  using namespace pipeformer;
  return ToolMain(
      argc, argv,
      {.name = "copy-lines",
       .purpose = "copies lines.",
       .usage = {"copy-lines < text > copy"},
       .examples = {{.purpose = "copy", .command = "echo a | copy-lines"}},
       .see_also = "cat",
       .run = [](Tool& tool) { FilterLines(tool, Copy); }});
}
