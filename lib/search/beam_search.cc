#include "lib/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/nn/pair_batch.h"
#include "lib/search/beam.h"

namespace pipeformer {

struct BeamSearch::Sentence {
  Sentence(SearchRequest request, const SearchOptions& options, int64_t limit)
      : beam(std::move(request), options, limit) {}

  int64_t pieces() const {
    return static_cast<int64_t>(beam.request().source.size()) + 1;
  }

  Beam beam;
  std::vector<std::unique_ptr<SentenceCache>> caches;  // of each network
};

BeamSearch::BeamSearch(const Ensemble& ensemble, const SearchOptions& options)
    : ensemble_(ensemble), options_(options), next_(ensemble, options) {
  if (options_.mini_batch_words == 0) {
    options_.mini_batch_words = ensemble.SuitableMiniBatchWords();
  }
  if (options_.coverage_penalty > 0) {
    coverage_ = std::make_unique<CoverageProbe>();
  }
  for (const Transformer* network : ensemble.networks) {
    pools_.push_back(std::make_unique<BlockPool>(network->config().d_model));
  }
}

BeamSearch::~BeamSearch() = default;

void BeamSearch::Run(const NextRequest& next, const TakeResult& take) {
  while (Fill(next)) {
    Step();
    for (auto& sentence : active_) {
      if (!sentence->beam.done()) continue;
      take(sentence->beam.Finish());
      active_pieces_ -= sentence->pieces();
      sentence.reset();
    }
    std::erase(active_, nullptr);
  }
}

// Lets sentences join while there is room; false when all is done.
bool BeamSearch::Fill(const NextRequest& next) {
  while (active_.empty() || active_pieces_ < options_.mini_batch_words) {
    if (ready_.empty()) Encode(next);
    if (ready_.empty()) break;
    active_pieces_ += ready_.front()->pieces();
    active_.push_back(std::move(ready_.front()));
    ready_.pop_front();
  }
  return !active_.empty();
}

// Most pieces of a result. A translation grows with its source, a
// continuation does not; both end where the positions do.
int64_t BeamSearch::LengthLimit(const SearchRequest& request) const {
  const TransformerConfig& config = ensemble_.config();
  const auto source = static_cast<int64_t>(request.source.size());
  int64_t limit = request.max_length.value_or(options_.max_length);
  if (config.trained_on == TrainedOn::kPairs && !request.max_length) {
    const double factor =
        options_.max_length_factor * static_cast<double>(source);
    limit = std::min(limit, static_cast<int64_t>(std::ceil(factor)) + 10);
  }
  limit = std::max(limit, static_cast<int64_t>(request.prefix.size()) +
                              NumPieces(request.constraints));
  return std::clamp<int64_t>(
      limit, 0, ensemble_.max_positions() - PromptRows(config, source));
}

// Makes waiting sentences ready to join, some at a time, so that the encoder
// has many rows too: what their sources say to the decoder, and a first
// hypothesis.
void BeamSearch::Encode(const NextRequest& next) {
  PairBatch batch(ensemble_.config(), options_.boundary);
  for (int64_t pieces = 0; pieces < (options_.mini_batch_words + 1) / 2;) {
    SearchRequest request;
    const bool idle = active_.empty() && ready_.empty();
    if (!next(idle ? Wait::kYes : Wait::kNo, request)) break;
    const int64_t limit = LengthLimit(request);
    batch.Append(request.source, {});
    auto sentence =
        std::make_unique<Sentence>(std::move(request), options_, limit);
    for (size_t n = 0; n < pools_.size(); ++n) {
      sentence->caches.push_back(std::make_unique<SentenceCache>(
          *pools_[n], ensemble_.networks[n]->config().decoder_layers));
    }
    pieces += sentence->pieces();
    ready_.push_back(std::move(sentence));
  }
  if (ready_.empty()) return;
  for (size_t n = 0; n < ensemble_.networks.size(); ++n) {
    std::vector<SentenceCache*> caches;
    for (const auto& sentence : ready_) {
      caches.push_back(sentence->caches[n].get());
    }
    arena_.Rewind({});
    Context context{.arena = arena_};
    ensemble_.networks[n]->CacheSource(context, batch, caches);
  }
  const Ragged sequence = batch.sequence();
  for (size_t s = 0; s < ready_.size(); ++s) {
    ready_[s]->beam.Begin(
        sequence.ids[static_cast<size_t>(sequence.offsets[s + 1]) - 1],
        ready_[s]->caches[0]->history_rows);
  }
}

// One more position of every live hypothesis.
void BeamSearch::Step() {
  arena_.Rewind({});
  Context context{.arena = arena_};
  std::vector<NextRule> rules;
  for (auto& sentence : active_) {
    Beam& beam = sentence->beam;
    const int64_t rows = beam.GiveRows(sentence->caches[0]->history_rows);
    for (auto& cache : sentence->caches) cache->history_rows = rows;
    for (const LiveHypothesis& live : beam.live()) {
      rules.push_back(beam.RuleFor(live));
    }
  }
  next_.Find(context, DecodeStep(context), rules);
  size_t row = 0;
  for (auto& sentence : active_) {
    if (coverage_ != nullptr) Cover(static_cast<int64_t>(row), *sentence);
    const size_t first = row;
    row += sentence->beam.live().size();
    sentence->beam.Advance(
        [&](size_t number) { return next_.Of(first + number); });
  }
}

// The hidden states of each network, [live hypotheses, its d_model].
std::vector<Matrix> BeamSearch::DecodeStep(Context& context) {
  std::vector<int32_t> ids;
  std::vector<HistoryRows> rows;
  for (const auto& sentence : active_) {
    for (const LiveHypothesis& live : sentence->beam.live()) {
      ids.push_back(sentence->beam.LastPiece(live));
      rows.push_back(live.rows);
    }
  }
  context.probe = coverage_.get();
  if (coverage_ != nullptr) coverage_->Clear();
  std::vector<Matrix> hidden;
  for (size_t n = 0; n < ensemble_.networks.size(); ++n) {
    const Transformer& network = *ensemble_.networks[n];
    if (coverage_ != nullptr) {
      coverage_->Watch(network,
                       1 / static_cast<double>(ensemble_.networks.size()));
    }
    std::vector<SentenceCache*> caches;  // of each hypothesis
    for (const auto& sentence : active_) {
      caches.insert(caches.end(), sentence->beam.live().size(),
                    sentence->caches[n].get());
    }
    DecoderCache cache(caches, rows);
    hidden.push_back(network.DecodeStep(context, ids, cache).value);
  }
  return hidden;
}

// Adds what the step looked at to what its hypotheses have covered.
void BeamSearch::Cover(int64_t first_row, Sentence& sentence) {
  for (LiveHypothesis& live : sentence.beam.live()) {
    const auto seen = coverage_->Of(first_row++);
    for (size_t i = 0; i < live.coverage.size(); ++i) {
      live.coverage[i] += seen[i];
    }
  }
}

}  // namespace pipeformer
