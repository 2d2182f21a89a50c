#include "lib/metrics/chrf.h"

#include <algorithm>
#include <cstdint>

#include "lib/base/error.h"
#include "lib/metrics/ngram_bag.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

constexpr double kEpsilon = 1e-16;

// One text as the symbols of its character and word n-grams.
struct ChrfText {
  std::u32string text;  // What the word numbers were made of.
  std::vector<uint32_t> characters;
  std::vector<uint32_t> words;
};

class ChrfCounter : public SegmentCounter {
 public:
  explicit ChrfCounter(const Chrf& chrf)
      : chrf_(chrf),
        options_(chrf.options()),
        char_bag_(options_.char_order),
        word_bag_(std::max<size_t>(options_.word_order, 1)),
        matches_(options_.char_order + options_.word_order),
        candidate_(chrf.num_statistics()) {}

  void Count(const Segment& segment, std::span<double> statistics) override {
    words_.Clear();
    Read(segment.hypothesis, &hypothesis_);
    // The word numbers refer to the texts: all must live to the end.
    references_.resize(std::max(references_.size(), segment.references.size()));
    double best = -1;
    for (size_t i = 0; i < segment.references.size(); ++i) {
      Read(segment.references[i], &references_[i]);
      Compare(references_[i]);
      const double score = chrf_.Score(candidate_);
      if (score > best) {
        best = score;
        std::copy(candidate_.begin(), candidate_.end(), statistics.begin());
      }
    }
  }

 private:
  void Read(std::string_view utf8, ChrfText* result) {
    result->text =
        DecodeUtf8(utf8, options_.lowercase ? Case::kLower : Case::kAsIs);
    result->characters.clear();
    for (const char32_t c : result->text) {
      if (options_.whitespace == ChrfWhitespace::kKept || !IsSpace(c)) {
        result->characters.push_back(c);
      }
    }
    if (options_.word_order == 0) return;
    SplitChrfWords(result->text, &split_);
    result->words.clear();
    for (const auto word : split_) result->words.push_back(words_.Number(word));
  }

  // Fills `candidate_` with the statistics against one reference.
  void Compare(const ChrfText& reference) {
    const std::span<double> matches(matches_);
    const size_t char_order = options_.char_order;
    char_bag_.Clear();
    char_bag_.AddReference(reference.characters);
    char_bag_.TakeMatches(hypothesis_.characters, matches.first(char_order));
    for (size_t n = 1; n <= char_order; ++n) {
      Store(n - 1, NumNgrams(hypothesis_.characters.size(), n),
            NumNgrams(reference.characters.size(), n));
    }
    if (options_.word_order == 0) return;
    word_bag_.Clear();
    word_bag_.AddReference(reference.words);
    word_bag_.TakeMatches(hypothesis_.words, matches.subspan(char_order));
    for (size_t n = 1; n <= options_.word_order; ++n) {
      Store(char_order + n - 1, NumNgrams(hypothesis_.words.size(), n),
            NumNgrams(reference.words.size(), n));
    }
  }

  void Store(size_t order_index, size_t num_hypothesis, size_t num_reference) {
    double* row = &candidate_[3 * order_index];
    row[0] = num_reference > 0 ? static_cast<double>(num_hypothesis) : 0;
    row[1] = static_cast<double>(num_reference);
    row[2] = matches_[order_index];
  }

  const Chrf& chrf_;
  const ChrfOptions& options_;
  WordTable words_;
  NgramBag char_bag_;
  NgramBag word_bag_;
  ChrfText hypothesis_;
  std::vector<ChrfText> references_;
  std::vector<std::u32string_view> split_;
  std::vector<double> matches_;
  std::vector<double> candidate_;
};

// The weighted harmonic mean of precision and recall, 0 if both are 0.
double FScore(double precision, double recall, double beta_squared) {
  const double denominator = beta_squared * precision + recall;
  if (denominator <= 0) return 0;
  return (1 + beta_squared) * precision * recall / denominator;
}

}  // namespace

Chrf::Chrf(const ChrfOptions& options) : options_(options) {
  if (options.char_order == 0) {
    ThrowUsage("chrF of character order 0; the least is 1");
  }
  if (options.beta <= 0) {
    ThrowUsage("chrF beta is " + std::to_string(options.beta) +
               "; the least is 1");
  }
}

std::string Chrf::Name() const {
  return "chrF" + std::to_string(options_.beta) +
         std::string(options_.word_order, '+');
}

std::unique_ptr<SegmentCounter> Chrf::MakeCounter() const {
  return std::make_unique<ChrfCounter>(*this);
}

double Chrf::Score(std::span<const double> sums) const {
  Check(sums.size() == num_statistics(), "sums have the width of chrF's rows");
  const double beta_squared = options_.beta * options_.beta;
  const size_t num_orders = options_.char_order + options_.word_order;
  double sum_of_scores = 0;
  double sum_precision = 0;
  double sum_recall = 0;
  double num_effective = 0;
  for (size_t i = 0; i < num_orders; ++i) {
    const double hypothesis = sums[3 * i];
    const double reference = sums[3 * i + 1];
    const double matches = sums[3 * i + 2];
    const double precision = hypothesis > 0 ? matches / hypothesis : kEpsilon;
    const double recall = reference > 0 ? matches / reference : kEpsilon;
    sum_of_scores += precision + recall > 0
                         ? FScore(precision, recall, beta_squared)
                         : kEpsilon;
    if (hypothesis > 0 && reference > 0) {
      sum_precision += precision;
      sum_recall += recall;
      num_effective += 1;
    }
  }
  if (options_.smoothing == ChrfSmoothing::kEpsilon) {
    return 100 * sum_of_scores / static_cast<double>(num_orders);
  }
  if (num_effective == 0) return 0;
  return 100 * FScore(sum_precision / num_effective, sum_recall / num_effective,
                      beta_squared);
}

Signature Chrf::MakeSignature(std::string_view num_references) const {
  const bool effective = options_.smoothing == ChrfSmoothing::kEffectiveOrder;
  const bool kept = options_.whitespace == ChrfWhitespace::kKept;
  return {{"nrefs", std::string(num_references)},
          {"case", options_.lowercase ? "lc" : "mixed"},
          {"eff", effective ? "yes" : "no"},
          {"nc", std::to_string(options_.char_order)},
          {"nw", std::to_string(options_.word_order)},
          {"space", kept ? "yes" : "no"},
          {"version", std::string(kSacreBleuVersion)}};
}

void SplitChrfWords(std::u32string_view text,
                    std::vector<std::u32string_view>* words) {
  std::vector<std::u32string_view> whole;
  SplitWords(text, &whole);
  words->clear();
  for (const std::u32string_view word : whole) {
    const size_t last = word.size() - 1;
    if (last > 0 && IsAsciiPunctuation(word[last])) {
      words->push_back(word.substr(0, last));
      words->push_back(word.substr(last));
    } else if (last > 0 && IsAsciiPunctuation(word[0])) {
      words->push_back(word.substr(0, 1));
      words->push_back(word.substr(1));
    } else {
      words->push_back(word);
    }
  }
}

}  // namespace pipeformer
