#include "lib/ops/alignment_loss.h"

#include <cmath>

namespace pipeformer {
namespace {

constexpr float kLeastWeight = 1e-6f;

// One query: its place among the weights, and what it is linked with.
struct LinkedQuery {
  int64_t row = 0;  // of the query, in floats from the head's first weight
  int64_t head_stride = 0;
  int64_t num_heads = 1;

  float Mean(const float* weights, int64_t key) const {
    float sum = 0;
    for (int64_t h = 0; h < num_heads; ++h) {
      sum += weights[h * head_stride + row + key];
    }
    return sum / static_cast<float>(num_heads);
  }

  // Gives every head its part of the mean's gradient.
  void Spread(float gradient, int64_t key, float* d_weights) const {
    const float part = gradient / static_cast<float>(num_heads);
    for (int64_t h = 0; h < num_heads; ++h) {
      d_weights[h * head_stride + row + key] += part;
    }
  }
};

// The links of one query, at the front of `links`.
std::span<const Link> LinksOfFirst(std::span<const Link> links) {
  size_t count = 1;
  while (count < links.size() && links[count].target == links[0].target) {
    ++count;
  }
  return links.first(count);
}

double CrossEntropy(const float* weights, const LinkedQuery& q,
                    std::span<const Link> links, float gradient_scale,
                    float* d_weights) {
  double loss = 0;
  const float gold = 1 / static_cast<float>(links.size());
  for (const Link& link : links) {
    const float mean = q.Mean(weights, link.source) + kLeastWeight;
    loss -= static_cast<double>(gold * std::log(mean));
    q.Spread(-gradient_scale * gold / mean, link.source, d_weights);
  }
  return loss;
}

double SquaredMisses(const float* weights, const LinkedQuery& q,
                     std::span<const Link> links, float gradient_scale,
                     int64_t num_keys, float* d_weights) {
  double loss = 0;
  const float gold = 1 / static_cast<float>(links.size());
  auto next = links.begin();
  for (int64_t j = 0; j < num_keys; ++j) {
    float miss = q.Mean(weights, j);
    if (next != links.end() && next->source == j) {
      miss -= gold;
      ++next;
    }
    loss += static_cast<double>(miss) * static_cast<double>(miss);
    q.Spread(2 * gradient_scale * miss, j, d_weights);
  }
  return loss;
}

}  // namespace

double AlignmentLoss(const AttentionGroup& group, std::span<const Link> links,
                     const AlignmentLossOptions& options, float* d_weights) {
  const int64_t padded = PaddedKeys(group.num_keys);
  double loss = 0;
  while (!links.empty()) {
    const std::span<const Link> own = LinksOfFirst(links);
    links = links.subspan(own.size());
    const LinkedQuery query{own[0].target * padded, group.num_queries * padded,
                            options.num_heads};
    loss +=
        options.cost == AlignmentCost::kCrossEntropy
            ? CrossEntropy(group.weights, query, own, options.gradient_scale,
                           d_weights)
            : SquaredMisses(group.weights, query, own, options.gradient_scale,
                            group.num_keys, d_weights);
  }
  return loss;
}

}  // namespace pipeformer
