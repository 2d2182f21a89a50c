// What is known of each training pair beside its text: files of one line for
// every line of the corpus, read along with it, and keys of records.
#ifndef PIPEFORMER_TOOLS_PAIR_NOTES_H_
#define PIPEFORMER_TOOLS_PAIR_NOTES_H_

#include <memory>
#include <string>
#include <vector>

#include "formats/line_reader.h"
#include "formats/records.h"
#include "lib/base/link.h"

namespace pipeformer {

// Largest weight of a pair, and its inverse the smallest above 0: a batch of
// any of them has a finite mean.
inline constexpr double kMaxWeight = 1e6;

// The files; an empty name is none.
struct NoteFiles {
  std::string weights;    // --data-weighting: a number a line
  std::string alignment;  // --guided-alignment: links of words, pharaoh.h;
                          // kOfRecords: the key `alignment` of records
};

inline constexpr char kOfRecords[] = "records";

struct PairNote {
  float weight = 1;         // how often the pair counts; 0: it is left out
  std::vector<Link> links;  // between words
  std::string links_place;  // where these stand, for messages
};

class PairNotes {
 public:
  // Opens the files. Throws Error (66) where one is missing.
  explicit PairNotes(const NoteFiles& files);

  // Whether pairs have links.
  bool aligns() const { return of_records_ || alignment_ != nullptr; }

  // The note of the next line of the corpus, blank and bad ones included;
  // `place` names that line. Throws Error (65) naming file and line where a
  // file ends before the corpus or a line is not what it should be.
  PairNote Next(const std::string& place);

  // Requires: all lines of the corpus were asked for. Throws Error (65) where a
  // file goes on.
  void Finish();

  // Adds what the record itself says: its `weight`, and with kOfRecords its
  // `alignment`, a text as in pharaoh.h or a list of [source, target]. Throws
  // Error (65) where these are not what they should be, or a file gives a
  // weight too.
  void ReadKeys(const Json& record, const std::string& place,
                PairNote* note) const;

 private:
  std::string NextLine(LineReader& reader, const std::string& place,
                       std::string* line_place);
  void FinishFile(LineReader* reader);

  std::unique_ptr<LineReader> weights_, alignment_;
  bool of_records_ = false;
  int64_t num_lines_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_PAIR_NOTES_H_
