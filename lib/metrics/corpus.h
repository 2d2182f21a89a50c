// A corpus of hypotheses with its references, reduced to a table of segment
// statistics: all that a corpus score, sentence scores or a resampling test
// needs to know.
#ifndef PIPEFORMER_LIB_METRICS_CORPUS_H_
#define PIPEFORMER_LIB_METRICS_CORPUS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/metrics/metric.h"

namespace pipeformer {

// Texts are UTF-8, one for each segment.
struct Corpus {
  std::vector<std::string> hypotheses;  // [segments]
  // [streams][segments]; an absent value is a reference that is missing, ""
  // is a reference without words.
  std::vector<std::vector<std::optional<std::string>>> references;
};

// The longest text of a segment.
inline constexpr size_t kMaxSegmentBytes = size_t{64} << 20;

// Throws bad data, with the counts, unless there is at least one segment, the
// streams are as long as the hypotheses, every segment has a reference, and
// no text is longer than kMaxSegmentBytes.
void CheckCorpus(const Corpus& corpus);

// How many references the segments have, as signatures write it: a number, or
// "var" if it is not the same for all. Requires: a corpus that CheckCorpus
// accepts.
std::string NumReferences(const Corpus& corpus);

// Rows of numbers, one row for each segment.
class StatisticsTable {
 public:
  StatisticsTable(size_t num_segments, size_t width)
      : width_(width), values_(num_segments * width) {}

  size_t num_segments() const { return values_.size() / width_; }

  // The statistics of one segment [width].
  std::span<double> row(size_t segment) {
    return std::span(values_).subspan(segment * width_, width_);
  }
  std::span<const double> row(size_t segment) const {
    return std::span(values_).subspan(segment * width_, width_);
  }

  // The sum of all rows [width], added from the first to the last.
  std::vector<double> Sum() const;

  // The sum of the rows named, as often as they are named [width].
  std::vector<double> Sum(std::span<const size_t> segments) const;

 private:
  size_t width_;
  std::vector<double> values_;
};

// The statistics of every segment, computed by `num_threads` threads, which
// do not change the result.
// Requires: a corpus that CheckCorpus accepts; num_threads > 0.
StatisticsTable CountStatistics(const Metric& metric, const Corpus& corpus,
                                size_t num_threads = 1);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_CORPUS_H_
