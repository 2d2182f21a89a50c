#include "lib/metrics/ter.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lib/base/error.h"
#include "lib/metrics/ngram_bag.h"
#include "lib/metrics/translation_edits.h"
#include "lib/metrics/unicode.h"

namespace pipeformer {
namespace {

class TerCounter : public SegmentCounter {
 public:
  explicit TerCounter(const Ter& ter) : ter_(ter) {}

  void Count(const Segment& segment, std::span<double> statistics) override {
    words_.Clear();
    texts_.clear();
    texts_.reserve(1 + segment.references.size());
    const std::vector<uint32_t> hypothesis =
        Number(TokenizeForTer(ter_.options(), segment.hypothesis));
    int fewest = std::numeric_limits<int>::max();
    double total_length = 0;
    for (const std::string_view text : segment.references) {
      const std::vector<uint32_t> reference =
          Number(TokenizeReferenceForTer(ter_.options(), text));
      fewest = std::min(fewest, CountTranslationEdits(hypothesis, reference));
      total_length += static_cast<double>(reference.size());
    }
    statistics[0] = fewest;
    statistics[1] =
        total_length / static_cast<double>(segment.references.size());
  }

 private:
  // The words of `text` as numbers. The text itself is kept, since `words_`
  // points into it.
  std::vector<uint32_t> Number(std::u32string text) {
    texts_.push_back(std::move(text));
    SplitWords(texts_.back(), &split_);
    std::vector<uint32_t> numbers;
    for (const auto word : split_) numbers.push_back(words_.Number(word));
    return numbers;
  }

  const Ter& ter_;
  WordTable words_;
  std::vector<std::u32string> texts_;
  std::vector<std::u32string_view> split_;
};

}  // namespace

std::unique_ptr<SegmentCounter> Ter::MakeCounter() const {
  return std::make_unique<TerCounter>(*this);
}

double Ter::Score(std::span<const double> sums) const {
  Check(sums.size() == num_statistics(), "sums have the width of TER's rows");
  if (sums[1] > 0) return 100 * (sums[0] / sums[1]);
  return sums[0] > 0 ? 100 : 0;
}

Signature Ter::MakeSignature(std::string_view num_references) const {
  const auto yes_if = [](bool condition) { return condition ? "yes" : "no"; };
  return {{"nrefs", std::string(num_references)},
          {"case", options_.case_sensitive ? "mixed" : "lc"},
          {"tok", "tercom"},
          {"norm", yes_if(options_.normalized)},
          {"punct", yes_if(!options_.no_punct)},
          {"asian", yes_if(options_.asian_support)},
          {"version", std::string(kSacreBleuVersion)}};
}

}  // namespace pipeformer
