// The pairs, or sentences, that `train` learns from or validates on, as ids,
// from any of the formats it reads.
#ifndef PIPEFORMER_TOOLS_TRAINING_DATA_H_
#define PIPEFORMER_TOOLS_TRAINING_DATA_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/packed_corpus.h"
#include "formats/records.h"
#include "lib/base/worker_pool.h"
#include "lib/data/corpus.h"
#include "tools/support/tool.h"

namespace pipeformer {

// Whose text is kept: that of the targets, for BLEU, or of both sides, to cut
// it anew (subword_sampler.h).
enum class KeepText { kNone, kTarget, kBoth };

struct DataSource {
  std::vector<std::string> files;
  // tsv, jsonl, tensors, or text (source file, target file; of sentences, any)
  std::string from;
  TrainedOn units = TrainedOn::kPairs;
  int64_t max_length = 0;  // pieces; a pair with a longer side is left out
  KeepText keep_text = KeepText::kNone;
};

class TrainingData {
 public:
  // Reads everything. Pairs with a blank or too long side are left out and
  // counted; a bad record is told (Tool::BadRecord) and left out. Throws Error
  // (65, 66) where two files differ in their number of lines, a tensor file is
  // damaged or was packed with another vocabulary, or a file is missing.
  TrainingData(Tool& tool, const DataSource& source,
               const VocabularyPair& vocabularies, WorkerPool& pool);

  // Of sentences every source is empty.
  PairCorpus corpus() const {
    return {{source_.ids, source_.offsets}, {target_.ids, target_.offsets}};
  }

  // The kept text of every pair.
  const std::vector<std::string>& source_text() const { return source_text_; }
  const std::vector<std::string>& target_text() const { return target_text_; }

  int64_t num_blank() const { return num_blank_; }
  int64_t num_long() const { return num_long_; }

  // SHA-256 of all ids, for telling corpora apart.
  std::string Hash() const;

 private:
  // A pair whose sides are sentences, or their texts alone, and its place.
  struct Waiting {
    Json source, target;
    std::string place;
    Sentence encoded_source, encoded_target;
    std::string problem;
  };

  void ReadLines(const std::string& file, const std::string& from);
  void ReadParallel(const std::string& source, const std::string& target);
  void ReadTensors(const std::string& file);
  void WaitLine(const std::string& text, const std::string& from,
                const std::string& place);
  void Wait(Json source, Json target, const std::string& place);
  void EncodeWaiting();
  void Encode(Waiting& pair) const;
  void AddEncoded(const Waiting& pair);
  void AddPacked(const TensorFile& file);
  void AddPackedPair(std::span<const int32_t> source,
                     std::span<const int32_t> target);
  bool Add(std::span<const int32_t> source, std::span<const int32_t> target);

  Tool& tool_;
  const VocabularyPair& vocabularies_;
  WorkerPool& pool_;
  TrainedOn units_;
  int64_t max_length_;
  KeepText keep_text_;
  std::vector<Waiting> waiting_;
  PackedIds source_, target_;
  std::vector<std::string> source_text_, target_text_;
  int64_t num_blank_ = 0;
  int64_t num_long_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAINING_DATA_H_
