// BLEU: the geometric mean of n-gram precisions times a penalty for brevity.
// Source: Papineni et al. 2002; the smoothing methods: Chen and Cherry 2014;
// the choices between: sacreBLEU (Post 2018).
#ifndef PIPEFORMER_LIB_METRICS_BLEU_H_
#define PIPEFORMER_LIB_METRICS_BLEU_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/bleu_tokenizer.h"
#include "lib/metrics/metric.h"

namespace pipeformer {

// What stands in for an n-gram precision of zero.
enum class BleuSmoothing {
  kNone,
  kFloor,  // A small number of matches, 0.1 unless told.
  kAddK,   // k is added to matches and totals of n > 1; 1 unless told.
  kExp,    // 1/2 of a match for the first such order, 1/4 for the next, ...
};

// The method called `name`: none, floor, add-k or exp. Throws a usage error
// for any other name.
BleuSmoothing BleuSmoothingNamed(std::string_view name);

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::kExp;
  // For kFloor and kAddK; the method's own default if absent.
  std::optional<double> smooth_value = {};
  // Leaves out the orders for which the hypothesis is too short; for scores
  // of single sentences.
  bool effective_order = false;
  size_t max_ngram_order = 4;
};

// A score and what it is made of. Vectors have one entry an order.
struct BleuScore {
  double score = 0;                // 0 to 100.
  std::vector<double> counts;      // Matches; kAddK's k included.
  std::vector<double> totals;      // n-grams of the hypothesis; k included.
  std::vector<double> precisions;  // In per cent, smoothed.
  double brevity_penalty = 0;
  double ratio = 0;  // Hypothesis length over reference length.
  double hypothesis_length = 0;
  double reference_length = 0;
};

class Bleu : public Metric {
 public:
  explicit Bleu(const BleuOptions& options);

  // The statistics of a segment are hypothesis length, length of the
  // reference closest to it (the shorter of two equally close), then matches
  // of each order, then n-grams of each order.
  size_t num_statistics() const override {
    return 2 + 2 * options_.max_ngram_order;
  }
  BleuScore Compute(std::span<const double> sums) const;

  // The words that are compared, with spaces between them.
  std::u32string Preprocess(std::string_view text) const;

  std::string Name() const override { return "BLEU"; }
  std::unique_ptr<SegmentCounter> MakeCounter() const override;
  double Score(std::span<const double> sums) const override {
    return Compute(sums).score;
  }
  std::string Details(std::span<const double> sums) const override;
  Signature MakeSignature(std::string_view num_references) const override;

  const BleuOptions& options() const { return options_; }

 private:
  double SmoothValue() const;
  void ComputePrecisions(BleuScore* bleu) const;

  BleuOptions options_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_BLEU_H_
