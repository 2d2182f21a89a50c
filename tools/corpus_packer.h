// Packs tokenized records into a corpus for training: one tensor file where
// --output names a file, a series of frames on standard output.
#ifndef PIPEFORMER_TOOLS_CORPUS_PACKER_H_
#define PIPEFORMER_TOOLS_CORPUS_PACKER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/packed_corpus.h"
#include "lib/text/sentence.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Sentences of one frame: memory stays constant on a pipe, and the frames do
// not depend on how the input arrives.
inline constexpr size_t kFrameSentences = 8192;

class CorpusPacker {
 public:
  CorpusPacker(Tool& tool, std::vector<std::string> vocabulary_hashes);

  // The form in which a record travels from the threads to Add. No sides: a
  // bad record, which becomes empty sentences to keep its place.
  static std::string Record(const std::vector<Sentence>& sides);

  // Takes any number of whole records, in order.
  // Throws Error (kBadData) where sentences and pairs are mixed; as Output.
  void Add(std::string_view records);

  // Writes what is left. Call it once, at the end of a good run.
  void Finish();

 private:
  void AddRecord(const std::vector<std::vector<int32_t>>& sides);
  void WriteFrame();

  Tool& tool_;
  std::vector<std::string> vocabulary_hashes_;
  const bool frames_;
  std::vector<PackedIds> sides_;  // none before the first good record
  uint64_t num_blank_ = 0;        // bad records before it
  uint64_t num_written_ = 0;      // records in the frames written
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_CORPUS_PACKER_H_
