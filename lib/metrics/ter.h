// TER: edits, with moves of word groups, for each word of the reference.
// Lower is better, and it may exceed 100.
// Source: Snover et al. 2006.
#ifndef PIPEFORMER_LIB_METRICS_TER_H_
#define PIPEFORMER_LIB_METRICS_TER_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/metrics/metric.h"
#include "lib/metrics/ter_tokenizer.h"

namespace pipeformer {

class Ter : public Metric {
 public:
  explicit Ter(const TerTokenizerOptions& options) : options_(options) {}

  // The statistics of a segment are the fewest edits to any reference and
  // the average length of the references.
  size_t num_statistics() const override { return 2; }

  std::string Name() const override { return "TER"; }
  std::unique_ptr<SegmentCounter> MakeCounter() const override;
  // Edits without any reference word count as 100.
  double Score(std::span<const double> sums) const override;
  std::string Details(std::span<const double>) const override { return ""; }
  Signature MakeSignature(std::string_view num_references) const override;

  const TerTokenizerOptions& options() const { return options_; }

 private:
  TerTokenizerOptions options_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_TER_H_
