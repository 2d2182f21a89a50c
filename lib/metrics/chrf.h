// chrF and chrF++: the F-score of character n-grams, and of word n-grams too.
// Source: Popović 2015 (chrF), 2017 (chrF++).
#ifndef PIPEFORMER_LIB_METRICS_CHRF_H_
#define PIPEFORMER_LIB_METRICS_CHRF_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/metric.h"

namespace pipeformer {

// How orders enter the mean that one of the texts is too short for.
enum class ChrfSmoothing {
  kEffectiveOrder,  // They do not.
  kEpsilon,         // As nearly zero.
};

enum class ChrfWhitespace {
  kRemoved,
  kKept,  // White space takes part in character n-grams.
};

struct ChrfOptions {
  size_t char_order = 6;
  size_t word_order = 0;  // 2 is chrF++.
  int beta = 2;           // Recall counts beta times as much as precision.
  bool lowercase = false;
  ChrfWhitespace whitespace = ChrfWhitespace::kRemoved;
  ChrfSmoothing smoothing = ChrfSmoothing::kEffectiveOrder;
};

class Chrf : public Metric {
 public:
  explicit Chrf(const ChrfOptions& options);

  // The statistics of a segment are three numbers an order, character orders
  // first: n-grams of the hypothesis (0 if the reference has none of that
  // order), of the reference, and matches; of the reference that gives the
  // best score, the first of equals.
  size_t num_statistics() const override {
    return 3 * (options_.char_order + options_.word_order);
  }

  std::string Name() const override;
  std::unique_ptr<SegmentCounter> MakeCounter() const override;
  double Score(std::span<const double> sums) const override;
  std::string Details(std::span<const double>) const override { return ""; }
  Signature MakeSignature(std::string_view num_references) const override;

  const ChrfOptions& options() const { return options_; }

 private:
  ChrfOptions options_;
};

// The words of chrF++: of a word longer than one character, one ASCII mark is
// parted from the end, or else from the start, so "(hi)" gives "(hi" and ")".
// The views point into `text`. `words` is replaced.
void SplitChrfWords(std::u32string_view text,
                    std::vector<std::u32string_view>* words);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_CHRF_H_
