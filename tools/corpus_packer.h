// Packs tokenized records into a corpus for training: one tensor file where
// --output names a file, a series of frames on standard output.
#ifndef PIPEFORMER_TOOLS_CORPUS_PACKER_H_
#define PIPEFORMER_TOOLS_CORPUS_PACKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/packed_corpus.h"
#include "formats/spill_file.h"
#include "lib/text/sentence.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Sentences of one frame, and most that are held in memory: it stays constant
// however long the input is. The frames do not depend on how it arrives.
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

  // Writes what is left, of a long corpus all of it: until then its ids lie in
  // temporary files beside the output. Call it once, at the end of a good run.
  void Finish();

 private:
  // One side of what no longer lies in memory.
  struct Spilled {
    explicit Spilled(const std::string& output) : ids(output), offsets(output) {
      const int64_t begin = 0;
      offsets.Write(std::as_bytes(std::span(&begin, 1)));
    }
    SpillFile ids, offsets;
    int64_t num_ids = 0;
  };

  void AddRecord(const std::vector<std::vector<int32_t>>& sides);
  void WriteFrame();
  void Spill();
  void WriteSpilled();
  void Emptied();

  Tool& tool_;
  std::vector<std::string> vocabulary_hashes_;
  const bool frames_;
  std::vector<PackedIds> sides_;  // none before the first good record
  std::vector<std::unique_ptr<Spilled>> spilled_;  // [sides] or none
  uint64_t num_blank_ = 0;    // bad records before the first good one
  uint64_t num_written_ = 0;  // records that left memory
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_CORPUS_PACKER_H_
