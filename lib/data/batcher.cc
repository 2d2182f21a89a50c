#include "lib/data/batcher.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace pipeformer {
namespace {

int64_t Length(const IdList& list, int64_t s) {
  return static_cast<int64_t>(list[s].size()) + 1;
}

// Cuts `pairs` into batches, in order.
std::vector<Batch> Cut(const PairCorpus& corpus, std::span<const int64_t> pairs,
                       int64_t batch_rows) {
  std::vector<Batch> batches;
  Batch batch;
  int64_t source = 0, target = 0;
  for (const int64_t s : pairs) {
    const int64_t more_source = Length(corpus.source, s);
    const int64_t more_target = Length(corpus.target, s);
    if (!batch.empty() &&
        std::max(source + more_source, target + more_target) > batch_rows) {
      batches.push_back(std::exchange(batch, {}));
      source = target = 0;
    }
    batch.push_back(s);
    source += more_source;
    target += more_target;
  }
  if (!batch.empty()) batches.push_back(std::move(batch));
  return batches;
}

}  // namespace

int64_t RowsOf(const PairCorpus& corpus, int64_t s) {
  return std::max(Length(corpus.source, s), Length(corpus.target, s));
}

std::vector<Batch> MakeEpoch(const PairCorpus& corpus,
                             const BatcherOptions& options, Random random) {
  std::vector<int64_t> order(static_cast<size_t>(corpus.size()));
  std::iota(order.begin(), order.end(), 0);
  Shuffle(order, random);
  std::vector<Batch> batches = Cut(corpus, order, options.batch_rows);
  for (Batch& batch : batches) {
    // Equal lengths keep their shuffled order.
    std::stable_sort(batch.begin(), batch.end(), [&](int64_t a, int64_t b) {
      return std::tuple(Length(corpus.target, a), Length(corpus.source, a)) <
             std::tuple(Length(corpus.target, b), Length(corpus.source, b));
    });
  }
  return batches;
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
