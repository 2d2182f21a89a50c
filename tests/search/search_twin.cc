#include "tests/search/search_twin.h"

#include <algorithm>
#include <cmath>

#include "lib/nn/pair_batch.h"
#include "lib/ops/cross_entropy.h"
#include "lib/tensor/arena.h"

namespace pipeformer {
namespace {

// A continuation of a sentence may be of any length.
int64_t LimitOf(const Transformer& model, const SearchOptions& options,
                const std::vector<int32_t>& source) {
  if (model.config().trained_on == TrainedOn::kSentences) {
    return options.max_length;
  }
  const double pieces = static_cast<double>(source.size());
  return std::min(
      options.max_length,
      static_cast<int64_t>(std::ceil(options.max_length_factor * pieces)) + 10);
}

bool Suppressed(const SearchOptions& options, int32_t id) {
  return std::find(options.suppressed.begin(), options.suppressed.end(), id) !=
         options.suppressed.end();
}

// Adds every continuation of `h` that may be.
void Continue(const Transformer& model, const SearchOptions& options,
              const std::vector<int32_t>& source, const Hypothesis& h,
              std::vector<Hypothesis>& all) {
  const bool at_limit =
      static_cast<int64_t>(h.ids.size()) >= LimitOf(model, options, source);
  const std::vector<float> next = NextLogProbs(model, options, source, h.ids);
  for (size_t i = 0; i < next.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const bool ends = id == options.boundary.eos;
    if (!ends && (at_limit || Suppressed(options, id))) continue;
    Hypothesis longer = h;
    longer.ids.push_back(id);
    longer.token_log_probs.push_back(next[i]);
    longer.log_prob += static_cast<double>(next[i]);
    all.push_back(std::move(longer));
  }
}

}  // namespace

std::unique_ptr<Transformer> SmallWorld(int64_t vocab, uint64_t seed,
                                        TransformerConfig config) {
  config.encoder_layers = config.is_language_model() ? 0 : 1;
  config.decoder_layers = 1;
  // A tied output layer makes a network without training say its input again.
  config.tied_embeddings = false;
  config.source_vocab = config.target_vocab = vocab;
  auto model = RandomNetwork(config, seed);
  model->parameters().ForEachParameter([](Parameter& p) {
    // Firm opinions, and often the one that a sentence is over.
    if (p.name == "output.bias") p.value.data[2] += 2;
    if (p.name != "output.weight") return;
    for (int64_t i = 0; i < p.size(); ++i) p.value.data[i] *= 3;
  });
  model->Pack();
  return model;
}

std::vector<std::vector<int32_t>> RandomSources(size_t count, int64_t longest,
                                                int64_t vocab, uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<int32_t>> sources(count);
  for (auto& source : sources) {
    source.resize(1 + random.Below(static_cast<uint64_t>(longest)));
    for (int32_t& id : source) {
      id = static_cast<int32_t>(3 +
                                random.Below(static_cast<uint64_t>(vocab - 3)));
    }
  }
  return sources;
}

std::vector<float> NextLogProbs(const Transformer& model,
                                const SearchOptions& options,
                                std::span<const int32_t> source,
                                std::span<const int32_t> prefix) {
  PairBatch batch(model.config(), options.boundary);
  batch.Append(source, prefix);
  Arena arena;
  Context context{.arena = arena};
  const Variable hidden = model.Predict(context, batch);
  const Matrix logits = model.output()(context, hidden).value;
  const float* row = logits.Row(logits.rows - 1);
  const float lse = LogSumExp(row, logits.cols);
  std::vector<float> log_probs(row, row + logits.cols);
  for (float& p : log_probs) p -= lse;
  return log_probs;
}

std::vector<Hypothesis> SlowBeamSearch(const Transformer& model,
                                       const SearchOptions& options,
                                       const std::vector<int32_t>& source) {
  std::vector<Hypothesis> beam(1), ended;
  while (!beam.empty()) {
    std::vector<Hypothesis> all;
    for (const Hypothesis& h : beam) {
      Continue(model, options, source, h, all);
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Hypothesis& a, const Hypothesis& b) {
                       return a.log_prob > b.log_prob;
                     });
    const auto width = static_cast<size_t>(options.beam_size);
    beam.clear();
    for (size_t i = 0; i < all.size(); ++i) {
      const bool ends = all[i].ids.back() == options.boundary.eos;
      if (ends && i < width) {
        all[i].ids.pop_back();
        ended.push_back(all[i]);
      } else if (!ends && beam.size() < width) {
        beam.push_back(all[i]);
      }
    }
    if (width == 1 && !ended.empty()) break;
  }
  for (Hypothesis& h : ended) {
    const auto length = static_cast<double>(h.ids.size() + 1);
    h.score = h.log_prob / std::pow(length, options.normalize);
  }
  std::stable_sort(ended.begin(), ended.end(),
                   [](const Hypothesis& a, const Hypothesis& b) {
                     return a.score > b.score;
                   });
  ended.resize(std::min(ended.size(), static_cast<size_t>(options.n_best)));
  return ended;
}

std::vector<std::vector<Hypothesis>> Search(
    const Ensemble& ensemble, const SearchOptions& options,
    const std::vector<std::vector<int32_t>>& sources) {
  std::vector<SearchRequest> requests;
  for (const auto& source : sources) requests.push_back({.source = source});
  return SearchRequests(ensemble, options, std::move(requests));
}

std::vector<std::vector<Hypothesis>> SearchRequests(
    const Ensemble& ensemble, const SearchOptions& options,
    std::vector<SearchRequest> requests) {
  std::vector<std::vector<Hypothesis>> results(requests.size());
  size_t next = 0;
  BeamSearch(ensemble, options)
      .Run(
          [&](Wait, SearchRequest& request) {
            if (next == requests.size()) return false;
            request = std::move(requests[next]);
            request.index = static_cast<int64_t>(next++);
            return true;
          },
          [&](SearchResult result) {
            results[static_cast<size_t>(result.index)] =
                std::move(result.hypotheses);
          });
  return results;
}

bool Same(const Hypothesis& a, const Hypothesis& b) {
  return a.ids == b.ids && a.token_log_probs == b.token_log_probs &&
         a.log_prob == b.log_prob && a.score == b.score;
}

}  // namespace pipeformer
