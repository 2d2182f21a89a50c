#include "tools/attention_view.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// -1 is the last of `count`.
int64_t FromTop(int64_t number, int64_t count) {
  return number < 0 ? number + count : number;
}

bool Has(const std::vector<int64_t>& numbers, int64_t number, int64_t count) {
  return numbers.empty() ||
         std::any_of(numbers.begin(), numbers.end(),
                     [&](int64_t n) { return FromTop(n, count) == number; });
}

bool HasKind(const std::vector<std::string>& kinds, AttentionKind kind) {
  return kinds.empty() ||
         std::find(kinds.begin(), kinds.end(), KindName(kind)) != kinds.end();
}

void CheckNumbers(const std::vector<int64_t>& numbers, int64_t count,
                  const std::string& what) {
  for (const int64_t n : numbers) {
    if (FromTop(n, count) >= 0 && FromTop(n, count) < count) continue;
    ThrowUsage("--" + what + " is " + std::to_string(n) + ", the model has " +
               what + "s 0 to " + std::to_string(count - 1) +
               ", or -1 for the top one");
  }
}

// Sums matrices of equal kind, layer and head; divides by how many there were.
void Average(std::vector<ShownAttention>& shown) {
  std::vector<ShownAttention> means;
  std::vector<float> counts;
  for (ShownAttention& m : shown) {
    const auto same = std::find_if(
        means.begin(), means.end(), [&](const ShownAttention& other) {
          return other.kind == m.kind && other.layer == m.layer &&
                 other.head == m.head;
        });
    if (same == means.end()) {
      means.push_back(std::move(m));
      counts.push_back(1);
      continue;
    }
    counts[static_cast<size_t>(same - means.begin())] += 1;
    std::transform(same->weights.begin(), same->weights.end(),
                   m.weights.begin(), same->weights.begin(), std::plus<>());
  }
  for (size_t i = 0; i < means.size(); ++i) {
    for (float& w : means[i].weights) w /= counts[i];
  }
  shown = std::move(means);
}

// Clears all but the `k` largest weights of each row, the earlier of equals.
void KeepLargest(ShownAttention& m, int64_t k) {
  std::vector<int64_t> order(static_cast<size_t>(m.keys));
  for (int64_t q = 0; q < m.queries; ++q) {
    float* row = m.weights.data() + q * m.keys;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [row](int64_t a, int64_t b) { return row[a] > row[b]; });
    for (int64_t i = k; i < m.keys; ++i) {
      row[order[static_cast<size_t>(i)]] = 0;
    }
  }
}

}  // namespace

const char* KindName(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kEncoder:
      return "encoder";
    case AttentionKind::kDecoder:
      return "decoder";
    case AttentionKind::kCross:
      break;
  }
  return "cross";
}

void CheckSelection(const AttentionSelection& selection, int64_t num_layers,
                    int64_t num_heads) {
  for (const std::string& kind : selection.kinds) {
    if (kind != "encoder" && kind != "decoder" && kind != "cross") {
      ThrowUsage("--kind is '" + kind + "'; known are encoder, decoder, cross");
    }
  }
  CheckNumbers(selection.layers, num_layers, "layer");
  CheckNumbers(selection.heads, num_heads, "head");
}

std::vector<ShownAttention> Select(const std::vector<AttentionMatrix>& all,
                                   const AttentionSelection& selection,
                                   int64_t encoder_layers,
                                   int64_t decoder_layers) {
  const bool over_heads =
      selection.average == "heads" || selection.average == "both";
  const bool over_layers =
      selection.average == "layers" || selection.average == "both";
  int64_t num_heads = 0;
  for (const AttentionMatrix& m : all) {
    num_heads = std::max<int64_t>(num_heads, m.head + 1);
  }
  std::vector<ShownAttention> shown;
  for (const AttentionMatrix& m : all) {
    const int64_t layers =
        m.kind == AttentionKind::kEncoder ? encoder_layers : decoder_layers;
    if (!HasKind(selection.kinds, m.kind) ||
        !Has(selection.layers, m.layer, layers) ||
        !Has(selection.heads, m.head, num_heads)) {
      continue;
    }
    shown.push_back({.kind = m.kind,
                     .layer = over_layers ? -1 : m.layer,
                     .head = over_heads ? -1 : m.head,
                     .queries = m.queries,
                     .keys = m.keys,
                     .weights = m.weights});
  }
  if (over_heads || over_layers) Average(shown);
  if (selection.top_k > 0) {
    for (ShownAttention& m : shown) {
      if (selection.top_k < m.keys) KeepLargest(m, selection.top_k);
    }
  }
  return shown;
}

}  // namespace pipeformer
