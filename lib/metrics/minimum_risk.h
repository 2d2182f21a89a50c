// Minimum Bayes risk: of several candidates, the one that the others agree with
// most when each is taken for the reference.
//   utility(c) = sum over r of weight[r] metric(c, r) / sum of weights
// Source: Kumar and Byrne 2004, section 2 (a list of n best, weighted by their
// probabilities); Eikema and Aziz 2020, section 5 (samples, weighted alike).
#ifndef PIPEFORMER_LIB_METRICS_MINIMUM_RISK_H_
#define PIPEFORMER_LIB_METRICS_MINIMUM_RISK_H_

#include <span>
#include <string>
#include <vector>

#include "lib/metrics/metric.h"

namespace pipeformer {

// The utility of each candidate, itself among the references. Equal texts are
// scored once. `metric` is one of sentences (BLEU with effective order).
// Requires: as many weights, none negative, not all zero.
std::vector<double> ExpectedUtilities(const Metric& metric,
                                      std::span<const std::string> candidates,
                                      std::span<const double> weights);

// The weights of candidates with these log-probabilities: their probabilities,
// made to add up to one.
std::vector<double> PosteriorWeights(std::span<const double> log_probs);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_METRICS_MINIMUM_RISK_H_
