#include "lib/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "lib/base/random.h"
#include "lib/nn/pair_batch.h"
#include "lib/ops/cross_entropy.h"
#include "lib/search/repetition.h"
#include "lib/search/sampling.h"

namespace pipeformer {
namespace {

// Rows of logits that exist at a time: 64 x 8,000 floats are 2 MB.
constexpr int64_t kLogitRows = 64;

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
  std::unique_ptr<SentenceCache> cache;
  std::vector<Live> live;
  std::vector<Hypothesis> ended;
  int64_t limit = 0;     // pieces, without the end symbol
  int32_t first_id = 0;  // what the first step is given
  std::vector<std::vector<Continuation>> continuations;  // of each live one

  int64_t pieces() const {
    return static_cast<int64_t>(request.source.size()) + 1;
  }
};

BeamSearch::BeamSearch(const Transformer& model, const SearchOptions& options)
    : model_(model), options_(options) {}

BeamSearch::~BeamSearch() = default;

void BeamSearch::Run(const NextRequest& next, const TakeResult& take) {
  while (Fill(next)) {
    Step();
    for (auto& sentence : active_) {
      if (!sentence->live.empty()) continue;
      take(Finish(*sentence));
      active_pieces_ -= sentence->pieces();
      free_caches_.push_back(std::move(sentence->cache));
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
    sentence->cache = TakeCache();
    active_pieces_ += sentence->pieces();
    active_.push_back(std::move(sentence));
  }
  if (active_.size() > first) Encode(first);
  return !active_.empty();
}

// Most pieces of a result. A translation grows with its source, a
// continuation does not; both end where the positions do.
int64_t BeamSearch::LengthLimit(int64_t source_pieces) const {
  const TransformerConfig& config = model_.config();
  const int64_t prompt = PromptRows(config, source_pieces);
  int64_t limit = std::min(options_.max_length, config.max_positions - prompt);
  if (config.trained_on == TrainedOn::kPairs) {
    const double factor =
        options_.max_length_factor * static_cast<double>(source_pieces);
    limit = std::min(limit, static_cast<int64_t>(std::ceil(factor)) + 10);
  }
  return std::max<int64_t>(limit, 0);
}

std::unique_ptr<SentenceCache> BeamSearch::TakeCache() {
  if (free_caches_.empty()) {
    return std::make_unique<SentenceCache>(model_.config().decoder_layers);
  }
  auto cache = std::move(free_caches_.back());
  free_caches_.pop_back();
  return cache;
}

// Gives the sentences from number `first` on their sources and a first
// hypothesis each.
void BeamSearch::Encode(size_t first) {
  PairBatch batch(model_.config(), options_.boundary);
  std::vector<SentenceCache*> caches;
  for (size_t s = first; s < active_.size(); ++s) {
    batch.Append(active_[s]->request.source, {});
    caches.push_back(active_[s]->cache.get());
  }
  arena_.Rewind({});
  Context context{.arena = arena_};
  model_.CacheSource(context, batch, caches);
  const Ragged sequence = batch.sequence();
  for (size_t s = first; s < active_.size(); ++s) {
    const auto end = static_cast<size_t>(sequence.offsets[s - first + 1]);
    active_[s]->first_id = sequence.ids[end - 1];
    Live live;
    live.rows.resize(static_cast<size_t>(active_[s]->cache->history_rows));
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
  std::vector<HypothesisRows> rows;
  std::vector<int64_t> first_row;
  for (auto& sentence : active_) {
    first_row.push_back(static_cast<int64_t>(ids.size()));
    for (Live& live : sentence->live) {
      const auto& earlier = live.hypothesis.ids;
      ids.push_back(earlier.empty() ? sentence->first_id : earlier.back());
      live.rows.push_back(
          static_cast<int32_t>(sentence->cache->history_rows++));
      rows.push_back({sentence->cache.get(), live.rows});
    }
  }
  first_row.push_back(static_cast<int64_t>(ids.size()));
  Context context{.arena = arena_};
  DecoderCache cache(rows, model_.config().d_model);
  const Matrix hidden = model_.DecodeStep(context, ids, cache).value;
  Choose(hidden, first_row);
  for (auto& sentence : active_) Advance(*sentence);
}

// Finds the best continuations of every hypothesis, a piece of the logits at
// a time.
void BeamSearch::Choose(Matrix hidden, const std::vector<int64_t>& first_row) {
  const int64_t vocab = model_.config().target_vocab;
  const Matrix logits =
      arena_.NewMatrix(std::min(kLogitRows, hidden.rows), vocab);
  size_t s = 0;
  for (int64_t begin = 0; begin < hidden.rows; begin += kLogitRows) {
    const int64_t rows = std::min(kLogitRows, hidden.rows - begin);
    model_.output().Infer(hidden.Rows(begin, rows), logits.Rows(0, rows));
    for (int64_t r = begin; r < begin + rows; ++r) {
      while (r >= first_row[s + 1]) ++s;
      Sentence& sentence = *active_[s];
      sentence.continuations.resize(sentence.live.size());
      ChooseRow(sentence, static_cast<size_t>(r - first_row[s]),
                {logits.Row(r - begin), static_cast<size_t>(vocab)});
    }
  }
}

void BeamSearch::ChooseRow(Sentence& sentence, size_t number,
                           std::span<float> logits) {
  const auto vocab = static_cast<int64_t>(logits.size());
  const Live& live = sentence.live[number];
  const Hypothesis& hypothesis = live.hypothesis;
  const float lse = LogSumExp(logits.data(), vocab);
  std::vector<Continuation>& result = sentence.continuations[number];
  result.clear();
  const auto add = [&](int32_t id, float logit) {
    const float log_prob = logit - lse;
    result.push_back({hypothesis.log_prob + static_cast<double>(log_prob),
                      log_prob, id, static_cast<int32_t>(number)});
  };
  const auto length = static_cast<int64_t>(hypothesis.ids.size());
  const auto& prefix = sentence.request.prefix;
  if (length < static_cast<int64_t>(prefix.size())) {
    const int32_t id = prefix[hypothesis.ids.size()];
    return add(id, logits[static_cast<size_t>(id)]);
  }
  if (length >= sentence.limit) {
    const int32_t eos = options_.boundary.eos;
    return add(eos, logits[static_cast<size_t>(eos)]);
  }
  Hide(sentence, hypothesis, logits);
  if (options_.sampling.active()) {
    Random chance = Random(options_.sampling.seed)
                        .Fork(static_cast<uint64_t>(sentence.request.index))
                        .Fork(live.sample)
                        .Fork(static_cast<uint64_t>(length));
    const int32_t id = SamplePiece(logits, options_.sampling, chance.Uniform());
    if (id >= 0) add(id, logits[static_cast<size_t>(id)]);
    return;
  }
  const size_t room = static_cast<size_t>(width()) - sentence.ended.size();
  best_.resize(std::min<size_t>(room, logits.size()));
  SelectBest(logits.data(), vocab, best_);
  for (const Candidate& c : best_) {
    if (c.id >= 0) add(c.id, c.logit);
  }
}

// Takes the pieces that must not follow out of the running.
void BeamSearch::Hide(const Sentence& sentence, const Hypothesis& hypothesis,
                      std::span<float> logits) const {
  const auto hide = [&](int32_t id) {
    logits[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
  };
  for (const int32_t id : options_.suppressed) hide(id);
  ForEachRepeat(
      std::span(hypothesis.ids).subspan(sentence.request.prefix.size()),
      options_.no_repeat_ngram_size, hide);
}

// Keeps the best continuations: those that end free their place in the beam.
void BeamSearch::Advance(Sentence& sentence) {
  std::vector<Continuation> all;
  for (const auto& part : sentence.continuations) {
    all.insert(all.end(), part.begin(), part.end());
  }
  const size_t room = static_cast<size_t>(width()) - sentence.ended.size();
  // Among equals the earlier hypothesis and the lower id win.
  std::stable_sort(all.begin(), all.end(),
                   [](const Continuation& a, const Continuation& b) {
                     return a.log_prob > b.log_prob;
                   });
  if (all.size() > room) all.resize(room);
  std::vector<Live> live;
  for (const Continuation& c : all) {
    Live next = sentence.live[static_cast<size_t>(c.parent)];
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
