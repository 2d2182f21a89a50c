#include "lib/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "lib/base/random.h"
#include "lib/nn/pair_batch.h"
#include "lib/search/repetition.h"

namespace pipeformer {
namespace {

// A continuation of a live hypothesis.
struct Continuation {
  double log_prob;       // of the whole hypothesis
  float token_log_prob;  // of the new piece
  int32_t id;
  int32_t parent;  // number of the live hypothesis
};

}  // namespace

double NormalizedScore(double log_prob, int64_t length, double alpha) {
  if (alpha == 0) return log_prob;
  return log_prob / std::pow(static_cast<double>(length), alpha);
}

// A hypothesis that has not ended. `rows` are its history rows (see
// DecoderCache), one for each position computed so far; `sample` tells drawn
// hypotheses apart.
struct BeamSearch::Live {
  Hypothesis hypothesis;
  std::vector<int32_t> rows;
  uint64_t sample = 0;
};

struct BeamSearch::Sentence {
  SearchRequest request;
  Caches caches;  // of each network
  std::vector<Live> live;
  std::vector<Hypothesis> ended;
  int64_t limit = 0;     // pieces, without the end symbol
  int32_t first_id = 0;  // what the first step is given

  int64_t pieces() const {
    return static_cast<int64_t>(request.source.size()) + 1;
  }
};

BeamSearch::BeamSearch(const Ensemble& ensemble, const SearchOptions& options)
    : ensemble_(ensemble), options_(options), next_(ensemble, options) {}

BeamSearch::~BeamSearch() = default;

void BeamSearch::Run(const NextRequest& next, const TakeResult& take) {
  while (Fill(next)) {
    Step();
    for (auto& sentence : active_) {
      if (!sentence->live.empty()) continue;
      take(Finish(*sentence));
      active_pieces_ -= sentence->pieces();
      free_caches_.push_back(std::move(sentence->caches));
      sentence.reset();
    }
    std::erase(active_, nullptr);
  }
}

// Lets sentences join while there is room; false when all is done.
bool BeamSearch::Fill(const NextRequest& next) {
  const size_t first = active_.size();
  while (active_.empty() || active_pieces_ < options_.mini_batch_words) {
    auto sentence = std::make_unique<Sentence>();
    const Wait wait = active_.empty() ? Wait::kYes : Wait::kNo;
    if (!next(wait, sentence->request)) break;
    const SearchRequest& request = sentence->request;
    sentence->limit =
        std::max(LengthLimit(static_cast<int64_t>(request.source.size())),
                 static_cast<int64_t>(request.prefix.size()));
    sentence->caches = TakeCaches();
    active_pieces_ += sentence->pieces();
    active_.push_back(std::move(sentence));
  }
  if (active_.size() > first) Encode(first);
  return !active_.empty();
}

// Most pieces of a result. A translation grows with its source, a
// continuation does not; both end where the positions do.
int64_t BeamSearch::LengthLimit(int64_t source_pieces) const {
  const TransformerConfig& config = ensemble_.config();
  const int64_t prompt = PromptRows(config, source_pieces);
  int64_t limit =
      std::min(options_.max_length, ensemble_.max_positions() - prompt);
  if (config.trained_on == TrainedOn::kPairs) {
    const double factor =
        options_.max_length_factor * static_cast<double>(source_pieces);
    limit = std::min(limit, static_cast<int64_t>(std::ceil(factor)) + 10);
  }
  return std::max<int64_t>(limit, 0);
}

BeamSearch::Caches BeamSearch::TakeCaches() {
  Caches caches;
  if (free_caches_.empty()) {
    for (const Transformer* network : ensemble_.networks) {
      caches.push_back(
          std::make_unique<SentenceCache>(network->config().decoder_layers));
    }
    return caches;
  }
  caches = std::move(free_caches_.back());
  free_caches_.pop_back();
  return caches;
}

// Gives the sentences from number `first` on their sources and a first
// hypothesis each.
void BeamSearch::Encode(size_t first) {
  PairBatch batch(ensemble_.config(), options_.boundary);
  for (size_t s = first; s < active_.size(); ++s) {
    batch.Append(active_[s]->request.source, {});
  }
  for (size_t n = 0; n < ensemble_.networks.size(); ++n) {
    std::vector<SentenceCache*> caches;
    for (size_t s = first; s < active_.size(); ++s) {
      caches.push_back(active_[s]->caches[n].get());
    }
    arena_.Rewind({});
    Context context{.arena = arena_};
    ensemble_.networks[n]->CacheSource(context, batch, caches);
  }
  const Ragged sequence = batch.sequence();
  for (size_t s = first; s < active_.size(); ++s) {
    const auto end = static_cast<size_t>(sequence.offsets[s - first + 1]);
    active_[s]->first_id = sequence.ids[end - 1];
    Live live;
    live.rows.resize(static_cast<size_t>(active_[s]->caches[0]->history_rows));
    std::iota(live.rows.begin(), live.rows.end(), 0);
    const int64_t drawn = options_.sampling.active() ? options_.n_best : 1;
    for (int64_t i = 0; i < drawn; ++i) {
      live.sample = static_cast<uint64_t>(i);
      active_[s]->live.push_back(live);
    }
  }
}

// One more position of every live hypothesis.
void BeamSearch::Step() {
  arena_.Rewind({});
  std::vector<int32_t> ids;
  std::vector<NextRule> rules;
  for (auto& sentence : active_) {
    for (Live& live : sentence->live) {
      const auto& earlier = live.hypothesis.ids;
      ids.push_back(earlier.empty() ? sentence->first_id : earlier.back());
      live.rows.push_back(
          static_cast<int32_t>(sentence->caches[0]->history_rows++));
      rules.push_back(RuleFor(*sentence, live));
    }
  }
  Context context{.arena = arena_};
  std::vector<Matrix> hidden;  // of each network
  for (size_t n = 0; n < ensemble_.networks.size(); ++n) {
    std::vector<HypothesisRows> rows;
    for (const auto& sentence : active_) {
      for (const Live& live : sentence->live) {
        rows.push_back({sentence->caches[n].get(), live.rows});
      }
    }
    const Transformer& network = *ensemble_.networks[n];
    DecoderCache cache(rows, network.config().d_model);
    hidden.push_back(network.DecodeStep(context, ids, cache).value);
  }
  next_.Find(context, hidden, rules);
  size_t row = 0;
  for (auto& sentence : active_) {
    const size_t first = row;
    row += sentence->live.size();
    Advance(*sentence, first);
  }
}

// What may follow a hypothesis, whatever the networks say.
NextRule BeamSearch::RuleFor(const Sentence& sentence, const Live& live) const {
  NextRule rule;
  const auto& ids = live.hypothesis.ids;
  const auto length = static_cast<int64_t>(ids.size());
  const auto& prefix = sentence.request.prefix;
  if (length < static_cast<int64_t>(prefix.size())) {
    rule.only = prefix[ids.size()];
    return rule;
  }
  if (length >= sentence.limit) {
    rule.only = options_.boundary.eos;
    return rule;
  }
  if (length < options_.min_length) {
    rule.hidden.push_back(options_.boundary.eos);
  }
  ForEachRepeat(std::span(ids).subspan(prefix.size()),
                options_.no_repeat_ngram_size,
                [&](int32_t id) { rule.hidden.push_back(id); });
  if (options_.sampling.active()) {
    rule.chance = Random(options_.sampling.seed)
                      .Fork(static_cast<uint64_t>(sentence.request.index))
                      .Fork(live.sample)
                      .Fork(static_cast<uint64_t>(length))
                      .Uniform();
  } else {
    rule.most = RoomIn(sentence);
  }
  return rule;
}

// Places of the beam that no ended hypothesis has.
size_t BeamSearch::RoomIn(const Sentence& sentence) const {
  const int64_t width =
      options_.sampling.active() ? options_.n_best : options_.beam_size;
  return static_cast<size_t>(width) - sentence.ended.size();
}

// Keeps the best continuations: those that end free their place in the beam.
// The rows of the sentence's live ones are those from `first_row` on.
void BeamSearch::Advance(Sentence& sentence, size_t first_row) {
  std::vector<Continuation> all;
  for (size_t number = 0; number < sentence.live.size(); ++number) {
    const double before = sentence.live[number].hypothesis.log_prob;
    for (const NextPiece& next : next_.Of(first_row + number)) {
      all.push_back({before + static_cast<double>(next.log_prob), next.log_prob,
                     next.id, static_cast<int32_t>(number)});
    }
  }
  const size_t room = RoomIn(sentence);
  // Among equals the earlier hypothesis and the lower id win.
  std::stable_sort(all.begin(), all.end(),
                   [](const Continuation& a, const Continuation& b) {
                     return a.log_prob > b.log_prob;
                   });
  if (all.size() > room) all.resize(room);
  // How many of those that stay continue each one: the last takes its memory.
  std::vector<int32_t> uses(sentence.live.size());
  for (const Continuation& c : all) ++uses[static_cast<size_t>(c.parent)];
  std::vector<Live> live;
  for (const Continuation& c : all) {
    const auto parent = static_cast<size_t>(c.parent);
    Live next = --uses[parent] == 0 ? std::move(sentence.live[parent])
                                    : sentence.live[parent];
    next.hypothesis.token_log_probs.push_back(c.token_log_prob);
    next.hypothesis.log_prob = c.log_prob;
    if (c.id != options_.boundary.eos) {
      next.hypothesis.ids.push_back(c.id);
      live.push_back(std::move(next));
      continue;
    }
    const auto length = static_cast<int64_t>(next.hypothesis.ids.size()) + 1;
    next.hypothesis.score =
        NormalizedScore(c.log_prob, length, options_.normalize);
    sentence.ended.push_back(std::move(next.hypothesis));
  }
  sentence.live = std::move(live);
}

SearchResult BeamSearch::Finish(Sentence& sentence) const {
  std::stable_sort(sentence.ended.begin(), sentence.ended.end(),
                   [](const Hypothesis& a, const Hypothesis& b) {
                     return a.score > b.score;
                   });
  const auto count = static_cast<size_t>(options_.n_best);
  if (sentence.ended.size() > count) sentence.ended.resize(count);
  return {sentence.request.index, std::move(sentence.ended)};
}

}  // namespace pipeformer
