#include "lib/search/sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/ops/cross_entropy.h"

namespace pipeformer {
namespace {

// The `count` most probable pieces, fewer where there are no more.
std::vector<Candidate> MostProbable(std::span<const float> logits,
                                    size_t count) {
  std::vector<Candidate> best(std::min(count, logits.size()), kNoCandidate);
  SelectBest(logits.data(), static_cast<int64_t>(logits.size()), 0, best);
  std::erase_if(best, [](const Candidate& c) { return c.id < 0; });
  return best;
}

std::vector<Candidate> AllPieces(std::span<const float> logits) {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] > -HUGE_VALF) {
      all.push_back({logits[id], static_cast<int32_t>(id)});
    }
  }
  return all;
}

// The sum over `candidates` of exp((logit - largest) / temperature).
double Mass(std::span<const Candidate> candidates, double largest,
            double temperature) {
  double sum = 0;
  for (const Candidate& c : candidates) {
    sum += std::exp((static_cast<double>(c.logit) - largest) / temperature);
  }
  return sum;
}

// The fewest most probable pieces that reach the share `p` of all.
std::vector<Candidate> Nucleus(std::span<const float> logits, double p,
                               double temperature) {
  std::vector<Candidate> all = AllPieces(logits);
  if (all.empty()) return all;
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  });
  const auto largest = static_cast<double>(all[0].logit);
  const double wanted = p * Mass(all, largest, temperature);
  double sum = 0;
  size_t count = 0;
  while (count < all.size() && (count == 0 || sum < wanted)) {
    sum += Mass({&all[count++], 1}, largest, temperature);
  }
  all.resize(count);
  return all;
}

}  // namespace

int32_t SamplePiece(std::span<const float> logits,
                    const SamplingOptions& options, double chance) {
  std::vector<Candidate> among;
  if (options.temperature == 0) {
    among = MostProbable(logits, 1);
  } else if (options.kind == SamplingKind::kTopK) {
    among = MostProbable(logits, static_cast<size_t>(options.k));
  } else if (options.kind == SamplingKind::kNucleus) {
    among = Nucleus(logits, options.p, options.temperature);
  } else {
    among = AllPieces(logits);
  }
  if (among.empty()) return -1;
  if (among.size() == 1) return among[0].id;
  float largest = among[0].logit;
  for (const Candidate& c : among) largest = std::max(largest, c.logit);
  const auto top = static_cast<double>(largest);
  double left = chance * Mass(among, top, options.temperature);
  for (const Candidate& c : among) {
    left -= Mass({&c, 1}, top, options.temperature);
    if (left < 0) return c.id;
  }
  return among.back().id;  // rounding alone leads here
}

}  // namespace pipeformer
