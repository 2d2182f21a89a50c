// Where the pairs of a corpus stand in its files, for messages.
#ifndef PIPEFORMER_TOOLS_PAIR_PLACES_H_
#define PIPEFORMER_TOOLS_PAIR_PLACES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pipeformer {

// What the numbers of a file count: lines from 1, records from 0.
enum class Numbering { kLines, kRecords };

// Remembers one number for each run of pairs that stand one after another,
// so that its memory grows with the pairs left out and not with the corpus.
class PairPlaces {
 public:
  // The pairs added from now on are of this file.
  void BeginFile(const std::string& name, Numbering numbering);

  // The next pair of the corpus; `number` rises within a file.
  // Requires: a file was begun.
  void Add(int64_t number);

  // `file:12`, or `file: record 12`. Requires: 0 <= pair < pairs added.
  std::string At(int64_t pair) const;

  // The first places of `pairs` in the order of the corpus, and how many pairs
  // there are: `a:1, a:7, a:12 and 40 more`.
  std::string List(std::span<const int64_t> pairs) const;

 private:
  struct File {
    std::string name;
    Numbering numbering;
  };
  struct Run {
    int64_t pair;  // the first one
    int64_t number;
    size_t file;
  };

  std::vector<File> files_;
  std::vector<Run> runs_;
  int64_t num_pairs_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_PAIR_PLACES_H_
