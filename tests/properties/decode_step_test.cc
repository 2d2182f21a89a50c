// Decoding step by step equals the whole sequence, bit for bit: logits,
// log-probabilities and attention weights, with several hypotheses to a
// sentence, beams that are reordered, and sentences that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/transformer.h"
#include "lib/ops/cross_entropy.h"
#include "tests/nn/test_network.h"
#include "tests/properties/recording_probe.h"

namespace pipeformer {
namespace {

using Weights = std::vector<std::vector<float>>;  // [heads][padded keys]

// How the rows of a beam's new positions are numbered.
enum class RowOrder { kAscending, kDescending };

// What one step gave one hypothesis, kept under its history row.
struct StepResult {
  std::vector<float> logits;
  std::vector<Weights> self, cross;  // a layer each
};

struct Hypothesis {
  std::vector<int32_t> pieces;  // from <s> on
  std::vector<int32_t> rows;    // a history row for each piece
};

// A sentence in the making.
struct Sentence {
  explicit Sentence(int64_t num_layers) : cache(num_layers) {}

  SentenceCache cache;
  size_t source = 0;  // its number in the batch of sources
  int64_t start = 0;  // joins at this step
  int64_t length = 0;
  std::vector<Hypothesis> beam;
  std::vector<StepResult> results;  // by history row
};

// Continues random members of the beam with random pieces, as a search would.
void Branch(Sentence& s, int64_t vocab, RowOrder order, Random& random) {
  const size_t size = 1 + random.Below(4);
  const std::vector<Hypothesis> before = s.beam;
  s.beam.clear();
  for (size_t i = 0; i < size; ++i) {
    Hypothesis h;
    if (!before.empty()) h = before[random.Below(before.size())];
    h.pieces.push_back(
        static_cast<int32_t>(random.Below(static_cast<uint64_t>(vocab))));
    const auto nth = order == RowOrder::kAscending ? i : size - 1 - i;
    h.rows.push_back(
        static_cast<int32_t>(s.cache.history_rows + static_cast<int64_t>(nth)));
    s.beam.push_back(h);
  }
  s.cache.history_rows += static_cast<int64_t>(size);
  s.results.resize(static_cast<size_t>(s.cache.history_rows));
}

class StepDecoder {
 public:
  StepDecoder(const Transformer& network, const RaggedIds& sources,
              RowOrder order)
      : network_(network), sources_(sources), order_(order) {}

  // Decodes all sentences, each from its own start for its own length.
  void Run(std::deque<Sentence>& sentences) {
    for (int64_t step = 0;; ++step) {
      std::vector<Sentence*> joining, active;
      bool waiting = false;
      for (Sentence& s : sentences) {
        if (s.start == step) joining.push_back(&s);
        waiting |= s.start > step;
        if (s.start <= step && step < s.start + s.length) active.push_back(&s);
      }
      if (!joining.empty()) Join(joining);
      if (!active.empty()) Step(active);
      if (active.empty() && !waiting) return;
    }
  }

 private:
  void Join(const std::vector<Sentence*>& joining) {
    std::vector<size_t> which;
    std::vector<SentenceCache*> caches;
    for (Sentence* s : joining) {
      which.push_back(s->source);
      caches.push_back(&s->cache);
    }
    const RaggedIds batch = Select(sources_, which);
    Arena arena;
    Context context{.arena = arena};
    const Variable memory = network_.Encode(context, batch.view());
    network_.CacheMemory(context, memory, batch.offsets, caches);
  }

  void Step(const std::vector<Sentence*>& active) {
    const TransformerConfig& config = network_.config();
    for (Sentence* s : active) {
      Branch(*s, config.target_vocab, order_, random_);
    }
    std::vector<HypothesisRows> hypotheses;
    std::vector<int32_t> ids;
    for (Sentence* s : active) {
      for (const Hypothesis& h : s->beam) {
        hypotheses.push_back({&s->cache, h.rows});
        ids.push_back(h.pieces.back());
      }
    }
    RecordingProbe probe(config.num_heads);
    Arena arena;
    Context context{.arena = arena, .probe = &probe};
    DecoderCache cache(hypotheses, config.d_model);
    const Variable hidden = network_.DecodeStep(context, ids, cache);
    const Matrix logits = network_.output()(context, hidden).value;
    int64_t r = 0;
    for (Sentence* s : active) {
      for (const Hypothesis& h : s->beam) {
        StepResult& result = s->results[static_cast<size_t>(h.rows.back())];
        result.logits.assign(logits.Row(r), logits.Row(r) + logits.cols);
        for (int layer = 0; layer < config.decoder_layers; ++layer) {
          const auto at = [&](AttentionKind kind) {
            return probe.weights().at({kind, layer, r});
          };
          result.self.push_back(at(AttentionKind::kDecoder));
          result.cross.push_back(at(AttentionKind::kCross));
        }
        ++r;
      }
    }
  }

  const Transformer& network_;
  const RaggedIds& sources_;
  RowOrder order_;
  Random random_{99};
};

// All hypotheses that are left at the end, and what their steps gave.
struct Decoded {
  RaggedIds targets;
  std::vector<size_t> source;              // of each target
  std::vector<const StepResult*> results;  // of each target row
};

Decoded Collect(const std::deque<Sentence>& sentences) {
  Decoded decoded;
  for (const Sentence& s : sentences) {
    for (const Hypothesis& h : s.beam) {
      decoded.targets.Append(-1, h.pieces, -1);
      decoded.source.push_back(s.source);
      for (const int32_t row : h.rows) {
        decoded.results.push_back(&s.results[static_cast<size_t>(row)]);
      }
    }
  }
  return decoded;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// The weights of a step, with fewer keys, begin those of the whole sequence;
// the rest are keys of the future: exactly zero. Each row sums to one.
void ExpectSameWeights(const Weights& step, const Weights& whole,
                       int64_t num_keys) {
  const auto seen = static_cast<size_t>(num_keys);
  ASSERT_EQ(step.size(), whole.size());
  for (size_t head = 0; head < step.size(); ++head) {
    const std::span<const float> a(step[head]), b(whole[head]);
    EXPECT_TRUE(SameBits(a.first(seen), b.first(seen)));
    const auto zero = [](float w) { return w == 0; };
    EXPECT_TRUE(std::all_of(a.begin() + num_keys, a.end(), zero));
    EXPECT_TRUE(std::all_of(b.begin() + num_keys, b.end(), zero));
    double sum = 0;
    for (const float w : a) sum += w;
    EXPECT_NEAR(sum, 1, 1e-5);
  }
}

struct Case {
  NormPlace norm;
  bool tied;
  RowOrder order;
  Activation activation;
};

class DecodeStep : public testing::TestWithParam<Case> {
 protected:
  DecodeStep() {
    TransformerConfig config = SmallConfig();
    config.norm = GetParam().norm;
    config.tied_embeddings = GetParam().tied;
    if (!config.tied_embeddings) config.target_vocab = 93;
    config.activation = GetParam().activation;
    network_ = RandomNetwork(config, 5);
    network_->Pack();
    const std::vector<int64_t> lengths = {7, 1, 33, 16, 20, 5};
    sources_ = RandomBatch(lengths, config.source_vocab, Random(6));
    const std::vector<int64_t> starts = {0, 0, 2, 3, 3, 40};
    const std::vector<int64_t> targets = {20, 35, 18, 1, 16, 17};
    for (size_t s = 0; s < lengths.size(); ++s) {
      Sentence& sentence = sentences_.emplace_back(config.decoder_layers);
      sentence.source = s;
      sentence.start = starts[s];
      sentence.length = targets[s];
    }
    StepDecoder(*network_, sources_, GetParam().order).Run(sentences_);
    decoded_ = Collect(sentences_);
  }

  // The hypotheses as whole sequences, each with a copy of its source.
  Variable Whole(Context& context) const {
    const RaggedIds sources = Select(sources_, decoded_.source);
    const Variable memory = network_->Encode(context, sources.view());
    return network_->Decode(context, decoded_.targets.view(), memory,
                            sources.offsets);
  }

  std::unique_ptr<Transformer> network_;
  RaggedIds sources_;
  std::deque<Sentence> sentences_;
  Decoded decoded_;
  Arena arena_;
};

TEST_P(DecodeStep, LogitsEqualThoseOfTheWholeSequence) {
  Context context{.arena = arena_};
  const Matrix logits = network_->output()(context, Whole(context)).value;
  ASSERT_EQ(logits.rows, static_cast<int64_t>(decoded_.results.size()));
  for (int64_t r = 0; r < logits.rows; ++r) {
    EXPECT_TRUE(SameBits(decoded_.results[static_cast<size_t>(r)]->logits,
                         {logits.Row(r), static_cast<size_t>(logits.cols)}))
        << "row " << r;
  }
}

TEST_P(DecodeStep, LogProbabilitiesEqualTargetLogProbs) {
  Context context{.arena = arena_};
  const size_t rows = decoded_.results.size();
  // The piece after each: the next one, and anything at a sentence's end.
  std::vector<int32_t> next(decoded_.targets.ids.begin() + 1,
                            decoded_.targets.ids.end());
  next.push_back(2);
  std::vector<float> log_probs(rows);
  network_->TargetLogProbs(context, Whole(context), next, log_probs);
  for (size_t r = 0; r < rows; ++r) {
    const std::vector<float>& logits = decoded_.results[r]->logits;
    const float step =
        logits[static_cast<size_t>(next[r])] -
        LogSumExp(logits.data(), static_cast<int64_t>(logits.size()));
    EXPECT_EQ(step, log_probs[r]) << "row " << r;
  }
}

TEST_P(DecodeStep, AttentionWeightsEqualThoseOfTheWholeSequence) {
  RecordingProbe probe(network_->config().num_heads);
  Context context{.arena = arena_, .probe = &probe};
  Whole(context);
  const std::vector<int32_t>& offsets = decoded_.targets.offsets;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const size_t source = decoded_.source[s];
    const int64_t source_rows =
        sources_.offsets[source + 1] - sources_.offsets[source];
    for (int64_t r = offsets[s]; r < offsets[s + 1]; ++r) {
      const StepResult& step = *decoded_.results[static_cast<size_t>(r)];
      for (int layer = 0; layer < network_->config().decoder_layers; ++layer) {
        SCOPED_TRACE("row " + std::to_string(r) + ", layer " +
                     std::to_string(layer));
        const auto whole = [&](AttentionKind kind) {
          return probe.weights().at({kind, layer, r});
        };
        const auto at = static_cast<size_t>(layer);
        ExpectSameWeights(step.self[at], whole(AttentionKind::kDecoder),
                          r - offsets[s] + 1);
        ExpectSameWeights(step.cross[at], whole(AttentionKind::kCross),
                          source_rows);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, DecodeStep,
    testing::Values(
        Case{NormPlace::kPost, true, RowOrder::kAscending, Activation::kRelu},
        Case{NormPlace::kPre, false, RowOrder::kAscending, Activation::kSwish},
        // A search may number the rows of a beam as it likes.
        Case{NormPlace::kPost, false, RowOrder::kDescending,
             Activation::kGelu}));

}  // namespace
}  // namespace pipeformer
