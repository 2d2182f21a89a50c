#include "lib/metrics/bleu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "lib/base/error.h"
#include "lib/metrics/ngram_bag.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

constexpr std::array<std::pair<BleuSmoothing, std::string_view>, 4> kNames = {{
    {BleuSmoothing::kNone, "none"},
    {BleuSmoothing::kFloor, "floor"},
    {BleuSmoothing::kAddK, "add-k"},
    {BleuSmoothing::kExp, "exp"},
}};

// The logarithm with which one precision of zero makes the score zero.
double LogOrMinusHuge(double x) { return x > 0 ? std::log(x) : -9999999999.0; }

class BleuCounter : public SegmentCounter {
 public:
  explicit BleuCounter(const Bleu& bleu)
      : bleu_(bleu), bag_(bleu.options().max_ngram_order) {}

  void Count(const Segment& segment, std::span<double> statistics) override {
    const size_t max_order = bleu_.options().max_ngram_order;
    words_.Clear();
    bag_.Clear();
    texts_.clear();
    // All texts stay alive until the end, for `words_` points into them.
    texts_.push_back(bleu_.Preprocess(segment.hypothesis));
    for (const std::string_view reference : segment.references) {
      texts_.push_back(bleu_.Preprocess(reference));
    }
    double closest = -1;
    const double length = static_cast<double>(Number(texts_[0], &hypothesis_));
    for (size_t i = 1; i < texts_.size(); ++i) {
      const double other = static_cast<double>(Number(texts_[i], &reference_));
      bag_.AddReference(reference_);
      const double gap = std::abs(length - other);
      const double best = std::abs(length - closest);
      if (closest < 0 || gap < best || (gap == best && other < closest)) {
        closest = other;
      }
    }
    statistics[0] = length;
    statistics[1] = closest;
    bag_.TakeMatches(hypothesis_, statistics.subspan(2, max_order));
    for (size_t n = 1; n <= max_order; ++n) {
      statistics[1 + max_order + n] =
          static_cast<double>(NumNgrams(hypothesis_.size(), n));
    }
  }

 private:
  // The words of `text` as numbers; returns how many there are.
  size_t Number(std::u32string_view text, std::vector<uint32_t>* numbers) {
    SplitWords(text, &split_);
    numbers->clear();
    for (const auto word : split_) numbers->push_back(words_.Number(word));
    return numbers->size();
  }

  const Bleu& bleu_;
  WordTable words_;
  NgramBag bag_;
  std::vector<std::u32string> texts_;
  std::vector<std::u32string_view> split_;
  std::vector<uint32_t> hypothesis_;
  std::vector<uint32_t> reference_;
};

}  // namespace

BleuSmoothing BleuSmoothingNamed(std::string_view name) {
  for (const auto& [smoothing, known] : kNames) {
    if (name == known) return smoothing;
  }
  ThrowUsage("unknown BLEU smoothing '" + std::string(name) +
             "'; choose exp, floor, add-k or none");
}

Bleu::Bleu(const BleuOptions& options) : options_(options) {
  if (options.max_ngram_order == 0) {
    ThrowUsage("BLEU of n-gram order 0; the least is 1");
  }
}

std::u32string Bleu::Preprocess(std::string_view text) const {
  const std::u32string decoded =
      DecodeUtf8(text, options_.lowercase ? Case::kLower : Case::kAsIs);
  return TokenizeForBleu(options_.tokenizer, decoded);
}

std::unique_ptr<SegmentCounter> Bleu::MakeCounter() const {
  return std::make_unique<BleuCounter>(*this);
}

double Bleu::SmoothValue() const {
  const double fallback =
      options_.smoothing == BleuSmoothing::kFloor ? 0.1 : 1.0;
  return options_.smooth_value.value_or(fallback);
}

void Bleu::ComputePrecisions(BleuScore* bleu) const {
  double log_sum = 0;
  double exp_divisor = 1;
  size_t order = options_.max_ngram_order;
  for (size_t n = 0; n < options_.max_ngram_order; ++n) {
    double& count = bleu->counts[n];
    double& total = bleu->totals[n];
    double& precision = bleu->precisions[n];
    if (options_.smoothing == BleuSmoothing::kAddK && n > 0) {
      count += SmoothValue();
      total += SmoothValue();
    }
    if (total == 0) {
      // The hypothesis has no n-grams of this order, hence none above.
      if (!options_.effective_order) log_sum = LogOrMinusHuge(0);
      break;
    }
    if (options_.effective_order) order = n + 1;
    if (count > 0) {
      precision = 100 * count / total;
    } else if (options_.smoothing == BleuSmoothing::kExp) {
      exp_divisor *= 2;
      precision = 100 / (exp_divisor * total);
    } else if (options_.smoothing == BleuSmoothing::kFloor) {
      precision = 100 * SmoothValue() / total;
    }
    log_sum += LogOrMinusHuge(precision);
  }
  // Rounding must not make a perfect score exceed 100.
  bleu->score =
      std::min(100.0, bleu->brevity_penalty *
                          std::exp(log_sum / static_cast<double>(order)));
}

BleuScore Bleu::Compute(std::span<const double> sums) const {
  Check(sums.size() == num_statistics(), "sums have the width of BLEU's rows");
  const size_t order = options_.max_ngram_order;
  BleuScore bleu;
  bleu.hypothesis_length = sums[0];
  bleu.reference_length = sums[1];
  bleu.counts.assign(sums.begin() + 2, sums.begin() + 2 + order);
  bleu.totals.assign(sums.begin() + 2 + order, sums.end());
  bleu.precisions.assign(order, 0.0);
  bleu.brevity_penalty = 1;
  if (bleu.hypothesis_length < bleu.reference_length) {
    bleu.brevity_penalty =
        bleu.hypothesis_length > 0
            ? std::exp(1 - bleu.reference_length / bleu.hypothesis_length)
            : 0;
  }
  if (bleu.reference_length > 0) {
    bleu.ratio = bleu.hypothesis_length / bleu.reference_length;
  }
  // Without any match the score is 0, whatever the smoothing.
  if (std::any_of(bleu.counts.begin(), bleu.counts.end(),
                  [](double count) { return count > 0; })) {
    ComputePrecisions(&bleu);
  }
  return bleu;
}

std::string Bleu::Details(std::span<const double> sums) const {
  const BleuScore bleu = Compute(sums);
  std::string text;
  for (const double precision : bleu.precisions) {
    if (!text.empty()) text += '/';
    text += FormatFixed(precision, 1);
  }
  return text + " (BP = " + FormatFixed(bleu.brevity_penalty, 3) +
         " ratio = " + FormatFixed(bleu.ratio, 3) +
         " hyp_len = " + FormatFixed(bleu.hypothesis_length, 0) +
         " ref_len = " + FormatFixed(bleu.reference_length, 0) + ")";
}

Signature Bleu::MakeSignature(std::string_view num_references) const {
  std::string smoothing(kNames[static_cast<size_t>(options_.smoothing)].second);
  if (options_.smoothing == BleuSmoothing::kFloor ||
      options_.smoothing == BleuSmoothing::kAddK) {
    smoothing += '[' + FormatFixed(SmoothValue(), 2) + ']';
  }
  return {{"nrefs", std::string(num_references)},
          {"case", options_.lowercase ? "lc" : "mixed"},
          {"eff", options_.effective_order ? "yes" : "no"},
          {"tok", std::string(BleuTokenizerName(options_.tokenizer))},
          {"smooth", smoothing},
          {"version", std::string(kSacreBleuVersion)}};
}

}  // namespace pipeformer
