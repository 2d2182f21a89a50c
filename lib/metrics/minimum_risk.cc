#include "lib/metrics/minimum_risk.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace pipeformer {

std::vector<double> ExpectedUtilities(const Metric& metric,
                                      std::span<const std::string> candidates,
                                      std::span<const double> weights) {
  std::vector<std::string_view> texts;  // distinct
  std::vector<double> masses;           // of each
  std::vector<size_t> text_of;          // of each candidate
  std::unordered_map<std::string_view, size_t> number_of;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto [at, is_new] = number_of.emplace(candidates[i], texts.size());
    if (is_new) {
      texts.push_back(candidates[i]);
      masses.push_back(0);
    }
    text_of.push_back(at->second);
    masses[at->second] += weights[i];
  }
  const double mass = std::accumulate(masses.begin(), masses.end(), 0.0);
  const auto counter = metric.MakeCounter();
  std::vector<double> statistics(metric.num_statistics());
  std::vector<double> utilities(texts.size());
  for (size_t c = 0; c < texts.size(); ++c) {
    for (size_t r = 0; r < texts.size(); ++r) {
      counter->Count({texts[c], {&texts[r], 1}}, statistics);
      utilities[c] += masses[r] / mass * metric.Score(statistics);
    }
  }
  std::vector<double> of_candidates;
  for (const size_t text : text_of) of_candidates.push_back(utilities[text]);
  return of_candidates;
}

std::vector<double> PosteriorWeights(std::span<const double> log_probs) {
  const double largest = *std::ranges::max_element(log_probs);
  std::vector<double> weights;
  for (const double p : log_probs) weights.push_back(std::exp(p - largest));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& w : weights) w /= sum;
  return weights;
}

}  // namespace pipeformer
