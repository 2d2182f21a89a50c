#include "tools/validator.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "lib/metrics/bleu.h"
#include "lib/metrics/chrf.h"
#include "lib/metrics/corpus.h"
#include "lib/search/beam_search.h"
#include "tools/translation.h"

namespace pipeformer {

namespace {

using Ids = std::vector<int32_t>;

// Completes the ids that this process found for some sentences, with none for
// the others, by what the other processes found. A double holds an id exactly.
void Exchange(Communicator& processes, std::vector<Ids>& sentences) {
  std::vector<double> ends;  // lengths, then where each ends in `all`
  for (const Ids& ids : sentences) {
    ends.push_back(static_cast<double>(ids.size()));
  }
  processes.Sum(ends);
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  const auto begin = [&ends](size_t s) {
    return s == 0 ? 0 : static_cast<ptrdiff_t>(ends[s - 1]);
  };
  std::vector<double> all(static_cast<size_t>(begin(sentences.size())));
  for (size_t s = 0; s < sentences.size(); ++s) {
    std::copy(sentences[s].begin(), sentences[s].end(), all.begin() + begin(s));
  }
  processes.Sum(all);
  for (size_t s = 0; s < sentences.size(); ++s) {
    sentences[s].assign(all.begin() + begin(s), all.begin() + begin(s + 1));
  }
}

}  // namespace

// Every so many sentences one is this process's.
std::vector<Ids> Validator::TranslateShare(const Transformer& network) const {
  const IdList sources = data_.corpus().source;
  const SearchOptions options =
      FitSearch({.search = {.beam_size = 1}}, network, vocabularies_);
  std::vector<Ids> translations(static_cast<size_t>(sources.size()));
  std::atomic<int64_t> next = processes_.rank();
  pool_.Run([&](int) {
    BeamSearch search(network, options);
    search.Run(
        [&](Wait, SearchRequest& request) {
          request.index = next.fetch_add(processes_.size());
          if (request.index >= sources.size()) return false;
          const auto ids = sources[request.index];
          request.source.assign(ids.begin(), ids.end());
          return true;
        },
        [&](SearchResult result) {
          if (result.hypotheses.empty()) return;  // weights not finite
          translations[static_cast<size_t>(result.index)] =
              std::move(result.hypotheses[0].ids);
        });
  });
  return translations;
}

std::vector<std::string> Validator::Translate(
    const Transformer& network) const {
  std::vector<Ids> translations = TranslateShare(network);
  if (processes_.size() > 1) Exchange(processes_, translations);
  std::vector<std::string> texts;
  for (const Ids& ids : translations) {
    texts.push_back(vocabularies_.target->Decode(ids));
  }
  return texts;
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
