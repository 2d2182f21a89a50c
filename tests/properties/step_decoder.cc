#include "tests/properties/step_decoder.h"

#include <numeric>

#include "lib/nn/pair_batch.h"
#include "tests/properties/recording_probe.h"

namespace pipeformer {

void StepDecoder::Run(std::deque<SteppedSentence>& sentences) {
  for (int64_t step = 0;; ++step) {
    std::vector<SteppedSentence*> joining, active;
    bool waiting = false;
    for (SteppedSentence& s : sentences) {
      if (s.start == step) joining.push_back(&s);
      waiting |= s.start > step;
      if (s.start <= step && step < s.start + s.length) active.push_back(&s);
    }
    if (!joining.empty()) Join(joining);
    if (!active.empty()) Step(active);
    if (active.empty() && !waiting) return;
  }
}

void StepDecoder::Join(const std::vector<SteppedSentence*>& joining) {
  PairBatch batch(network_.config(), Boundary{});
  std::vector<SentenceCache*> caches;
  for (SteppedSentence* s : joining) {
    batch.Append(s->source, {});
    caches.push_back(&s->cache);
  }
  Arena arena;
  Context context{.arena = arena};
  network_.CacheSource(context, batch, caches);
  const Ragged sequence = batch.sequence();
  for (size_t i = 0; i < joining.size(); ++i) {
    SteppedSentence& s = *joining[i];
    s.first_id = sequence.ids[static_cast<size_t>(sequence.offsets[i + 1] - 1)];
    SteppedHypothesis h;
    h.rows.resize(static_cast<size_t>(s.cache.history_rows));
    std::iota(h.rows.begin(), h.rows.end(), 0);
    s.beam = {h};
  }
}

// Continues random members of the beam with random pieces.
void StepDecoder::Branch(SteppedSentence& s) {
  const auto vocab = static_cast<uint64_t>(network_.config().target_vocab);
  const size_t size = 1 + random_.Below(4);
  const std::vector<SteppedHypothesis> before = s.beam;
  s.beam.clear();
  for (size_t i = 0; i < size; ++i) {
    SteppedHypothesis h = before[random_.Below(before.size())];
    h.pieces.push_back(h.pieces.empty()
                           ? s.first_id
                           : static_cast<int32_t>(random_.Below(vocab)));
    const auto nth = order_ == RowOrder::kAscending ? i : size - 1 - i;
    h.rows.push_back(
        static_cast<int32_t>(s.cache.history_rows + static_cast<int64_t>(nth)));
    s.beam.push_back(h);
  }
  s.cache.history_rows += static_cast<int64_t>(size);
  s.results.resize(static_cast<size_t>(s.cache.history_rows));
}

void StepDecoder::Step(const std::vector<SteppedSentence*>& active) {
  const TransformerConfig& config = network_.config();
  std::vector<SentenceCache*> caches;
  std::vector<HistoryRows> rows;
  std::vector<int32_t> ids;
  std::vector<StepResult*> results;
  for (SteppedSentence* s : active) {
    Branch(*s);
    for (const SteppedHypothesis& h : s->beam) {
      caches.push_back(&s->cache);
      rows.push_back(h.rows);
      ids.push_back(h.pieces.back());
      results.push_back(&s->results[static_cast<size_t>(h.rows.back())]);
    }
  }
  RecordingProbe probe(config.num_heads);
  Arena arena;
  Context context{.arena = arena, .probe = &probe};
  DecoderCache cache(caches, rows);
  const Variable hidden = network_.DecodeStep(context, ids, cache);
  const Matrix logits = network_.output()(context, hidden).value;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto r = static_cast<int64_t>(i);
    results[i]->logits.assign(logits.Row(r), logits.Row(r) + logits.cols);
    for (int layer = 0; layer < config.decoder_layers; ++layer) {
      const auto at = [&](AttentionKind kind) {
        return probe.weights().at({kind, layer, r});
      };
      results[i]->self.push_back(at(AttentionKind::kDecoder));
      if (config.is_language_model()) continue;
      results[i]->cross.push_back(at(AttentionKind::kCross));
    }
  }
}

}  // namespace pipeformer
