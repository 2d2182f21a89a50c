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
    : ensemble_(ensemble), options_(options), next_(ensemble, options) {
  if (options_.mini_batch_words == 0) {
    options_.mini_batch_words = ensemble.SuitableMiniBatchWords();
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
      if (!sentence->live.empty()) continue;
      take(Finish(*sentence));
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

// Makes waiting sentences ready to join, some at a time, so that the encoder
// has many rows too: what their sources say to the decoder, and a first
// hypothesis.
void BeamSearch::Encode(const NextRequest& next) {
  PairBatch batch(ensemble_.config(), options_.boundary);
  for (int64_t pieces = 0; pieces < (options_.mini_batch_words + 1) / 2;) {
    auto sentence = std::make_unique<Sentence>();
    SearchRequest& request = sentence->request;
    const bool idle = active_.empty() && ready_.empty();
    if (!next(idle ? Wait::kYes : Wait::kNo, request)) break;
    sentence->limit =
        std::max(LengthLimit(static_cast<int64_t>(request.source.size())),
                 static_cast<int64_t>(request.prefix.size()));
    for (size_t n = 0; n < pools_.size(); ++n) {
      sentence->caches.push_back(std::make_unique<SentenceCache>(
          *pools_[n], ensemble_.networks[n]->config().decoder_layers));
    }
    batch.Append(request.source, {});
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
    Sentence& sentence = *ready_[s];
    sentence.first_id =
        sequence.ids[static_cast<size_t>(sequence.offsets[s + 1]) - 1];
    Live live;
    live.rows.resize(static_cast<size_t>(sentence.caches[0]->history_rows));
    std::iota(live.rows.begin(), live.rows.end(), 0);
    const int64_t drawn = options_.sampling.active() ? options_.n_best : 1;
    for (int64_t i = 0; i < drawn; ++i) {
      live.sample = static_cast<uint64_t>(i);
      sentence.live.push_back(live);
    }
  }
}

// Gives every live hypothesis of a sentence a history row for its new position:
// the first rows that no position of a live one has.
void BeamSearch::GiveRows(Sentence& sentence) {
  auto& used = row_is_used_;
  used.assign(static_cast<size_t>(sentence.caches[0]->history_rows), false);
  for (const Live& live : sentence.live) {
    for (const int32_t row : live.rows) used[static_cast<size_t>(row)] = true;
  }
  size_t row = 0;
  for (Live& live : sentence.live) {
    while (row < used.size() && used[row]) ++row;
    live.rows.push_back(static_cast<int32_t>(row++));
  }
  const auto end = static_cast<int64_t>(std::max(row, used.size()));
  for (auto& cache : sentence.caches) cache->history_rows = end;
}

// One more position of every live hypothesis.
void BeamSearch::Step() {
  arena_.Rewind({});
  std::vector<int32_t> ids;
  std::vector<NextRule> rules;
  std::vector<HistoryRows> rows;
  for (auto& sentence : active_) {
    GiveRows(*sentence);
    for (const Live& live : sentence->live) {
      const auto& earlier = live.hypothesis.ids;
      ids.push_back(earlier.empty() ? sentence->first_id : earlier.back());
      rows.push_back(live.rows);
      rules.push_back(RuleFor(*sentence, live));
    }
  }
  Context context{.arena = arena_};
  std::vector<Matrix> hidden;  // of each network
  for (size_t n = 0; n < ensemble_.networks.size(); ++n) {
    std::vector<SentenceCache*> caches;  // of each hypothesis
    for (const auto& sentence : active_) {
      caches.insert(caches.end(), sentence->live.size(),
                    sentence->caches[n].get());
    }
    DecoderCache cache(caches, rows);
    hidden.push_back(
        ensemble_.networks[n]->DecodeStep(context, ids, cache).value);
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
