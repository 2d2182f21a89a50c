// What every metric of a corpus has in common. A segment is reduced to a row
// of numbers, its sufficient statistics; the rows of a corpus are added up;
// the sums give the score. So a sentence, a corpus and a resampled corpus are
// scored by the same code, and the text is read only once.
#ifndef PIPEFORMER_LIB_METRICS_METRIC_H_
#define PIPEFORMER_LIB_METRICS_METRIC_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipeformer {

// The behaviour that our signatures name: the numbers are sacreBLEU's of this
// version, so equal signatures mean comparable scores.
inline constexpr std::string_view kSacreBleuVersion = "2.6.0";

// One hypothesis and the references that there are for it, all UTF-8. A
// missing reference is left out; an empty one is "".
struct Segment {
  std::string_view hypothesis;
  std::span<const std::string_view> references;
};

// What a score was computed with: keys and values in sacreBLEU's order.
using Signature = std::vector<std::pair<std::string, std::string>>;

// The signature as printed, "nrefs:1|case:mixed|...".
std::string FormatSignature(const Signature& signature);

// `value` with `num_decimals` decimals and a dot, correctly rounded.
std::string FormatFixed(double value, int num_decimals);

// Turns segments into statistics. Has scratch memory of its own: one counter
// for each thread. Made by Metric::MakeCounter, which it must not outlive.
class SegmentCounter {
 public:
  virtual ~SegmentCounter() = default;

  // Writes the statistics of `segment`.
  //   statistics  [Metric::num_statistics()]
  // Requires: at least one reference.
  virtual void Count(const Segment& segment, std::span<double> statistics) = 0;
};

class Metric {
 public:
  virtual ~Metric() = default;

  // "BLEU", "chrF2", "chrF2++", "TER".
  virtual std::string Name() const = 0;

  // How many numbers describe a segment. Sums of rows describe a corpus.
  virtual size_t num_statistics() const = 0;

  virtual std::unique_ptr<SegmentCounter> MakeCounter() const = 0;

  // The score, 0 to 100 (TER may be above), of summed statistics.
  //   sums  [num_statistics()]
  virtual double Score(std::span<const double> sums) const = 0;

  // What sacreBLEU prints behind the score, or "" if it prints nothing.
  virtual std::string Details(std::span<const double> sums) const = 0;

  // The signature, with `num_references` (a number or "var") in front.
  virtual Signature MakeSignature(std::string_view num_references) const = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_METRIC_H_
