#include "lib/metrics/corpus.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

size_t CountReferences(const Corpus& corpus, size_t segment) {
  return std::count_if(
      corpus.references.begin(), corpus.references.end(),
      [segment](const auto& stream) { return stream[segment].has_value(); });
}

// Counts segments [begin, end).
void CountRange(const Metric& metric, const Corpus& corpus, size_t begin,
                size_t end, StatisticsTable* table) {
  const auto counter = metric.MakeCounter();
  std::vector<std::string_view> references;
  for (size_t i = begin; i < end; ++i) {
    references.clear();
    for (const auto& stream : corpus.references) {
      if (stream[i]) references.push_back(*stream[i]);
    }
    counter->Count({corpus.hypotheses[i], references}, table->row(i));
  }
}

void CheckLength(std::string_view text, size_t segment) {
  if (text.size() <= kMaxSegmentBytes) return;
  ThrowBadData("segment " + std::to_string(segment + 1) + " has " +
               std::to_string(text.size()) + " bytes, the limit is " +
               std::to_string(kMaxSegmentBytes) + "; split it");
}

void AddRow(std::span<const double> row, std::vector<double>* sums) {
  for (size_t i = 0; i < row.size(); ++i) (*sums)[i] += row[i];
}

}  // namespace

void CheckCorpus(const Corpus& corpus) {
  const size_t num_segments = corpus.hypotheses.size();
  if (num_segments == 0) ThrowBadData("no segments to score");
  if (corpus.references.empty()) ThrowBadData("no references to score against");
  for (size_t stream = 0; stream < corpus.references.size(); ++stream) {
    const size_t length = corpus.references[stream].size();
    if (length != num_segments) {
      ThrowBadData("reference stream " + std::to_string(stream + 1) + " has " +
                   std::to_string(length) + " segments, the hypotheses " +
                   std::to_string(num_segments) +
                   "; line k of each must belong to line k of the other");
    }
  }
  for (size_t i = 0; i < num_segments; ++i) {
    if (CountReferences(corpus, i) == 0) {
      ThrowBadData("segment " + std::to_string(i + 1) +
                   " has no reference; give it at least one");
    }
    CheckLength(corpus.hypotheses[i], i);
    for (const auto& stream : corpus.references) {
      if (stream[i]) CheckLength(*stream[i], i);
    }
  }
}

std::string NumReferences(const Corpus& corpus) {
  const size_t first = CountReferences(corpus, 0);
  for (size_t i = 1; i < corpus.hypotheses.size(); ++i) {
    if (CountReferences(corpus, i) != first) return "var";
  }
  return std::to_string(first);
}

std::vector<double> StatisticsTable::Sum() const {
  std::vector<double> sums(width_);
  for (size_t i = 0; i < num_segments(); ++i) AddRow(row(i), &sums);
  return sums;
}

std::vector<double> StatisticsTable::Sum(
    std::span<const size_t> segments) const {
  std::vector<double> sums(width_);
  for (const size_t i : segments) AddRow(row(i), &sums);
  return sums;
}

StatisticsTable CountStatistics(const Metric& metric, const Corpus& corpus,
                                size_t num_threads) {
  Check(num_threads > 0, "at least one thread counts");
  const size_t num_segments = corpus.hypotheses.size();
  StatisticsTable table(num_segments, metric.num_statistics());
  const size_t share = (num_segments + num_threads - 1) / num_threads;
  std::vector<std::jthread> threads;
  for (size_t begin = share; begin < num_segments; begin += share) {
    const size_t end = std::min(begin + share, num_segments);
    threads.emplace_back(
        [&, begin, end] { CountRange(metric, corpus, begin, end, &table); });
  }
  CountRange(metric, corpus, 0, std::min(share, num_segments), &table);
  return table;
}

}  // namespace pipeformer
