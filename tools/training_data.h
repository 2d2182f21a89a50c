// The pairs, or sentences, that `train` learns from or validates on, as ids,
// from any of the formats it reads. Text becomes ids in memory, 4 bytes a piece
// and 16 a pair, of an alignment 8 a link and 8 a pair; packed files stay where
// they are (packed_pairs.h).
#ifndef PIPEFORMER_TOOLS_TRAINING_DATA_H_
#define PIPEFORMER_TOOLS_TRAINING_DATA_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/packed_corpus.h"
#include "formats/records.h"
#include "lib/base/worker_pool.h"
#include "lib/data/corpus.h"
#include "tools/packed_pairs.h"
#include "tools/pair_notes.h"
#include "tools/pair_places.h"
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
  std::optional<NoteFiles> notes = {};  // weights count; none: all are alike
};

class TrainingData {
 public:
  // Reads text, opens packed files. Pairs with a blank or too long side are
  // left out and counted; a bad record is told (Tool::BadRecord) and left out.
  // Throws Error (65, 66) where two files differ in their number of lines, a
  // tensor file is damaged or was packed with another vocabulary, or a file is
  // missing.
  TrainingData(Tool& tool, const DataSource& source,
               const VocabularyPair& vocabularies, WorkerPool& pool);

  // Of sentences every source is empty.
  PairCorpus corpus() const {
    PairCorpus pairs{{source_.ids, source_.offsets},
                     {target_.ids, target_.offsets}};
    if (packed_) pairs = packed_->corpus();
    pairs.weights = weights_;
    pairs.links = links_;
    pairs.link_offsets = link_offsets_;
    return pairs;
  }

  // The kept text of every pair.
  const std::vector<std::string>& source_text() const { return source_text_; }
  const std::vector<std::string>& target_text() const { return target_text_; }

  int64_t num_blank() const { return num_blank_; }
  int64_t num_long() const { return num_long_; }
  int64_t num_weightless() const { return num_weightless_; }

  // Memory held for the pairs; mapped files do not count.
  int64_t bytes() const;

  // Where the pairs stand.
  const PairPlaces& places() const { return places_; }

  // With kBoth, of aligned pairs: the links between the words of each.
  const std::vector<std::vector<Link>>& word_links() const {
    return word_links_;
  }

 private:
  // A pair whose sides are sentences, or their texts alone, and its place.
  struct Waiting {
    Json source, target;
    std::string place;
    int64_t number;  // of its line
    PairNote note;
    Sentence encoded_source, encoded_target;
    std::vector<Link> links;  // between pieces
    std::string problem;
  };

  // A line of input and where it stands.
  struct Origin {
    std::string place;  // for messages
    int64_t number;
  };

  void ReadLines(const std::string& file, const std::string& from);
  void ReadParallel(const std::string& source, const std::string& target);
  void OpenPacked(const std::vector<std::string>& files);
  void WaitLine(const std::string& text, const std::string& from,
                const Origin& origin, PairNote note);
  void Wait(Json source, Json target, const Origin& origin, PairNote note);
  PairNote NextNote(const std::string& place);
  void EncodeWaiting();
  void Encode(Waiting& pair) const;
  bool Keeps(std::span<const int32_t> source, std::span<const int32_t> target,
             const PairNote& note, int64_t number);
  void Add(const Waiting& pair);
  void KeepTexts(const Waiting& pair);

  Tool& tool_;
  const VocabularyPair& vocabularies_;
  WorkerPool& pool_;
  TrainedOn units_;
  int64_t max_length_;
  KeepText keep_text_;
  std::optional<PairNotes> notes_;
  std::vector<Waiting> waiting_;
  PackedIds source_, target_;
  std::optional<PackedPairs> packed_;
  PairPlaces places_;
  std::vector<float> weights_;         // of the pairs kept, or none: all 1
  std::vector<Link> links_;            // between the pieces of the pairs kept
  std::vector<int64_t> link_offsets_;  // [pairs + 1], or none: not aligned
  std::vector<std::string> source_text_, target_text_;
  std::vector<std::vector<Link>> word_links_;
  int64_t num_blank_ = 0;
  int64_t num_long_ = 0;
  int64_t num_weightless_ = 0;
  int64_t num_kept_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TRAINING_DATA_H_
