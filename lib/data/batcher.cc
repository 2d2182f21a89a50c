#include "lib/data/batcher.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

int64_t Length(const IdList& list, int64_t s) {
  return static_cast<int64_t>(list[s].size()) + 1;
}

// Where `pairs` are cut into batches, in order.
std::vector<uint32_t> Cut(const PairCorpus& corpus,
                          std::span<const uint32_t> pairs, int64_t batch_rows) {
  std::vector<uint32_t> ends;
  int64_t source = 0, target = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int64_t more_source = Length(corpus.source, pairs[i]);
    const int64_t more_target = Length(corpus.target, pairs[i]);
    const bool is_first = source == 0;  // no length is
    if (!is_first &&
        std::max(source + more_source, target + more_target) > batch_rows) {
      ends.push_back(static_cast<uint32_t>(i));
      source = target = 0;
    }
    source += more_source;
    target += more_target;
  }
  if (!pairs.empty()) ends.push_back(static_cast<uint32_t>(pairs.size()));
  return ends;
}

}  // namespace

int64_t RowsOf(const PairCorpus& corpus, int64_t s) {
  return std::max(Length(corpus.source, s), Length(corpus.target, s));
}

Batch EpochBatches::operator[](size_t i) const {
  const uint32_t begin = i == 0 ? 0 : ends_[i - 1];
  return {pairs_.begin() + begin, pairs_.begin() + ends_[i]};
}

EpochBatches MakeEpoch(const PairCorpus& corpus, const BatcherOptions& options,
                       Random random) {
  Check(corpus.size() <= kMaxSentences, "a corpus has at most 2^32 - 1 pairs");
  std::vector<uint32_t> order(static_cast<size_t>(corpus.size()));
  std::iota(order.begin(), order.end(), 0);
  Shuffle(order, random);
  std::vector<uint32_t> ends = Cut(corpus, order, options.batch_rows);
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    // Equal lengths keep their shuffled order.
    std::stable_sort(order.begin() + begin, order.begin() + end,
                     [&](uint32_t a, uint32_t b) {
                       return std::tuple(Length(corpus.target, a),
                                         Length(corpus.source, a)) <
                              std::tuple(Length(corpus.target, b),
                                         Length(corpus.source, b));
                     });
    begin = end;
  }
  return {std::move(order), std::move(ends)};
}

std::vector<std::span<const int64_t>> Split(const PairCorpus& corpus,
                                            const Batch& batch, int64_t count) {
  int64_t total = 0;
  for (const int64_t s : batch) {
    total += Length(corpus.source, s) + Length(corpus.target, s);
  }
  std::vector<std::span<const int64_t>> parts;
  size_t begin = 0;
  int64_t rows = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    rows += Length(corpus.source, batch[i]) + Length(corpus.target, batch[i]);
    const auto made = static_cast<int64_t>(parts.size());
    if (rows * count >= total * (made + 1)) {
      parts.push_back(std::span(batch).subspan(begin, i + 1 - begin));
      begin = i + 1;
    }
  }
  return parts;
}

}  // namespace pipeformer
