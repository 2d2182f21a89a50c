#include "lib/search/invariance.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

namespace pipeformer {
namespace {

using Results = std::map<int64_t, std::vector<Hypothesis>>;  // by index

bool Equal(const Hypothesis& a, const Hypothesis& b) {
  return a.ids == b.ids && a.token_log_probs == b.token_log_probs &&
         a.log_prob == b.log_prob && a.score == b.score;
}

// Searches the requests that next() numbers, until it gives one beyond them.
template <class Next>
Results Search(const Ensemble& ensemble, const SearchOptions& options,
               std::span<const SearchRequest> requests, Next next) {
  Results results;
  BeamSearch(ensemble, options)
      .Run(
          [&](Wait, SearchRequest& request) {
            const size_t number = next();
            if (number >= requests.size()) return false;
            request = requests[number];
            return true;
          },
          [&](SearchResult result) {
            results[result.index] = std::move(result.hypotheses);
          });
  return results;
}

Results SearchInOrder(const Ensemble& ensemble, const SearchOptions& options,
                      std::span<const SearchRequest> requests) {
  return Search(ensemble, options, requests,
                [number = size_t{0}]() mutable { return number++; });
}

Results SearchAlone(const Ensemble& ensemble, const SearchOptions& options,
                    std::span<const SearchRequest> requests) {
  Results results;
  for (const SearchRequest& request : requests) {
    results.merge(SearchInOrder(ensemble, options, {&request, 1}));
  }
  return results;
}

Results SearchByThreads(const Ensemble& ensemble, const SearchOptions& options,
                        std::span<const SearchRequest> requests,
                        int64_t threads) {
  std::vector<Results> parts(static_cast<size_t>(threads));
  std::atomic<size_t> number = 0;
  {
    std::vector<std::jthread> workers;
    for (Results& part : parts) {
      workers.emplace_back([&] {
        part =
            Search(ensemble, options, requests, [&number] { return number++; });
      });
    }
  }
  Results results;
  for (Results& part : parts) results.merge(std::move(part));
  return results;
}

}  // namespace

std::vector<Variance> FindVariances(const Ensemble& ensemble,
                                    const SearchOptions& options,
                                    std::span<const SearchRequest> requests,
                                    int64_t threads) {
  SearchOptions all = options, few = options;
  all.mini_batch_words = int64_t{1} << 24;
  few.mini_batch_words = 50;
  std::vector<SearchRequest> reversed(requests.rbegin(), requests.rend());
  const Results expected = SearchInOrder(ensemble, all, requests);
  const std::pair<std::string, Results> ways[] = {
      {"alone", SearchAlone(ensemble, options, requests)},
      {"in reverse order", SearchInOrder(ensemble, few, reversed)},
      {"with --threads " + std::to_string(threads),
       SearchByThreads(ensemble, options, requests, threads)}};
  std::vector<Variance> variances;
  for (const auto& [way, results] : ways) {
    for (const auto& [index, hypotheses] : expected) {
      const auto found = results.find(index);
      if (found == results.end() ||
          !std::ranges::equal(found->second, hypotheses, Equal)) {
        variances.push_back({index, way});
      }
    }
  }
  return variances;
}

}  // namespace pipeformer
