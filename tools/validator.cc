#include "tools/validator.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/corpus.h"
#include "lib/search/beam_search.h"
#include "tools/translation.h"

namespace pipeformer {

std::vector<std::string> Validator::Translate(
    const Transformer& network) const {
  const IdList sources = data_.corpus().source;
  const SearchOptions options =
      FitSearch({.beam_size = 1}, network, vocabularies_);
  std::vector<std::string> translations(static_cast<size_t>(sources.size()));
  std::atomic<int64_t> next = 0;
  pool_.Run([&](int) {
    BeamSearch search(network, options);
    search.Run(
        [&](Wait, SearchRequest& request) {
          request.index = next++;
          if (request.index >= sources.size()) return false;
          const auto ids = sources[request.index];
          request.source.assign(ids.begin(), ids.end());
          return true;
        },
        [&](SearchResult result) {
          if (result.hypotheses.empty()) return;  // weights not finite
          translations[static_cast<size_t>(result.index)] =
              vocabularies_.target->Decode(result.hypotheses[0].ids);
        });
  });
  return translations;
}

std::vector<MetricValue> Validator::Validate(Trainer& trainer,
                                             const Transformer& network) const {
  std::optional<Corpus> corpus;
  const auto score = [&](const Metric& metric) {
    if (!corpus) {
      corpus.emplace();
      corpus->hypotheses = Translate(network);
      corpus->references.emplace_back(data_.target_text().begin(),
                                      data_.target_text().end());
    }
    return metric.Score(
        CountStatistics(metric, *corpus,
                        static_cast<size_t>(pool_.num_workers()))
            .Sum());
  };
  std::vector<MetricValue> values;
  for (const std::string& name : metrics_) {
    if (name == "cross-entropy") {
      const LossSum loss = trainer.Evaluate(network, data_.corpus());
      values.push_back(
          {name, loss.plain /
                     static_cast<double>(std::max<int64_t>(loss.pieces, 1))});
    } else if (name == "bleu") {
      values.push_back({name, score(Bleu({}))});
    } else {
      values.push_back({name, score(Chrf({}))});
    }
  }
  return values;
}

}  // namespace pipeformer
