// Word edit distance along the diagonal, and the alignment it implies: the
// inner step of TER, which asks for the distance of many re-orderings of one
// hypothesis to one reference.
#ifndef PIPEFORMER_LIB_METRICS_EDIT_ALIGNMENT_H_
#define PIPEFORMER_LIB_METRICS_EDIT_ALIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pipeformer {

// How the words of a hypothesis and of a reference correspond.
struct EditAlignment {
  // [reference words]: position of the hypothesis word aligned to it, or, for
  // a word that is missing, of the last one before it; -1 if there is none.
  std::vector<int> hypothesis_position;
  // [words + 1]: how many of the first i words are not matched. So words
  // b..e-1 hold an error if the values at b and e differ.
  std::vector<int> hypothesis_errors;
  std::vector<int> reference_errors;
};

// Edit distance with insertion, deletion and substitution at cost 1, computed
// only within 25 cells of the diagonal (more for texts of very unlike
// length), so that time is linear in length. Outside this beam the distance
// counts as infinite: for long texts the result may exceed the true distance.
// Source: Snover et al. 2006, section 2; beam and tie-breaking as sacreBLEU.
class BeamEditDistance {
 public:
  // Prepares for hypotheses of `num_words` words against `reference`, which
  // must stay alive.
  BeamEditDistance(std::span<const uint32_t> reference, size_t num_words);

  // Computes and keeps the whole table of `hypothesis` and returns its
  // distance. Requires: num_words words.
  int SetBase(std::span<const uint32_t> hypothesis);

  // The distance of `hypothesis`, whose first `num_same` words are those of
  // the base: their rows are not computed again.
  // Requires: SetBase was called; num_words words; num_same <= num_words.
  int DistanceFrom(std::span<const uint32_t> hypothesis, size_t num_same);

  // The alignment of the base. Substitutions go before words missing in the
  // reference, these before words missing in the hypothesis.
  EditAlignment AlignBase() const;

 private:
  // The part of a row inside the beam, columns begin..end-1.
  struct Row {
    size_t begin = 0;
    size_t end = 0;
    size_t offset = 0;  // Of column `begin` in the array of cells.
  };

  // Computes row `i` (i > 0) for hypothesis word `word` from the row before.
  void FillRow(size_t i, uint32_t word, const int* before, int* cells) const;
  int BaseCell(size_t i, size_t j) const;

  std::span<const uint32_t> reference_;
  size_t num_words_;
  std::vector<Row> rows_;     // [num_words + 1]
  std::vector<int> base_;     // The cells of all rows.
  std::vector<int> current_;  // Likewise, of the hypothesis asked for last.
  std::vector<uint32_t> base_words_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_EDIT_ALIGNMENT_H_
