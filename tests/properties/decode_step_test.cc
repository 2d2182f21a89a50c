// Decoding step by step equals the whole sequence, bit for bit: logits,
// log-probabilities and attention weights, with several hypotheses to a
// sentence, beams that are reordered, and sentences that come and go. For
// every architecture and kind of positions; what a language model is given
// first is run at once.
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
#include "tests/properties/step_decoder.h"

namespace pipeformer {
namespace {

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

class DecodeStep : public testing::TestWithParam<NamedConfig> {
 protected:
  DecodeStep()
      : network_(RandomNetwork(GetParam().config, 5)),
        pool_(network_->config().d_model),
        whole_(GetParam().config, Boundary{}) {
    const TransformerConfig& config = network_->config();
    network_->Pack(GetParam().precision);
    const int64_t lengths[] = {7, 0, 33, 16, 20, 5};
    const int64_t starts[] = {0, 0, 2, 3, 3, 40};
    const int64_t steps[] = {20, 35, 18, 1, 16, 17};
    const RaggedIds sources =
        RandomBatch(lengths, config.source_vocab, Random(6));
    for (size_t s = 0; s < std::size(lengths); ++s) {
      SteppedSentence& sentence =
          sentences_.emplace_back(pool_, config.decoder_layers);
      sentence.source.assign(sources.ids.begin() + sources.offsets[s],
                             sources.ids.begin() + sources.offsets[s + 1]);
      sentence.start = starts[s];
      sentence.length = steps[s];
    }
  }

  // Decodes; then the hypotheses at the end are the batch `whole_`, and what
  // the step of each of its targets gave is in `steps_`.
  void Decode(RowOrder order) {
    StepDecoder(*network_, order).Run(sentences_);
    for (const SteppedSentence& s : sentences_) {
      for (const SteppedHypothesis& h : s.beam) {
        whole_.Append(s.source, std::span(h.pieces).subspan(1));
        const size_t prompt = h.rows.size() - h.pieces.size();
        for (size_t i = 0; i < h.pieces.size(); ++i) {
          const int32_t row = h.rows[prompt + i];
          steps_.push_back(&s.results[static_cast<size_t>(row)]);
        }
      }
    }
    ASSERT_EQ(steps_.size(), whole_.targets().ids.size());
  }

  void ExpectSameLogits() {
    Context context{.arena = arena_};
    const Variable hidden = network_->Predict(context, whole_);
    const Matrix logits = network_->output()(context, hidden).value;
    ASSERT_EQ(logits.rows, static_cast<int64_t>(steps_.size()));
    for (int64_t r = 0; r < logits.rows; ++r) {
      EXPECT_TRUE(SameBits(steps_[static_cast<size_t>(r)]->logits,
                           {logits.Row(r), static_cast<size_t>(logits.cols)}))
          << "row " << r;
    }
  }

  std::unique_ptr<Transformer> network_;
  BlockPool pool_;
  std::deque<SteppedSentence> sentences_;
  PairBatch whole_;
  std::vector<const StepResult*> steps_;
  Arena arena_;
};

TEST_P(DecodeStep, LogitsEqualThoseOfTheWholeSequence) {
  Decode(RowOrder::kAscending);
  ExpectSameLogits();
}

TEST_P(DecodeStep, RowsMayBeNumberedInAnyOrder) {
  Decode(RowOrder::kDescending);
  ExpectSameLogits();
}

TEST_P(DecodeStep, LogSumsEqualThoseOfTheWholeSequence) {
  Decode(RowOrder::kAscending);
  Context context{.arena = arena_};
  size_t rows = 0;
  network_->ForEachLogits(
      context, network_->Predict(context, whole_),
      [&](int64_t row, std::span<const float>, float lse) {
        const auto& logits = steps_[static_cast<size_t>(row)]->logits;
        EXPECT_EQ(lse,
                  LogSumExp(logits.data(), static_cast<int64_t>(logits.size())))
            << "row " << row;
        ++rows;
      });
  EXPECT_EQ(rows, whole_.targets().ids.size());
}

TEST_P(DecodeStep, AttentionWeightsEqualThoseOfTheWholeSequence) {
  Decode(RowOrder::kAscending);
  RecordingProbe probe(network_->config().num_heads);
  Context context{.arena = arena_, .probe = &probe};
  network_->Predict(context, whole_);
  const bool has_memory = !network_->config().is_language_model();
  const Ragged targets = whole_.targets();
  for (size_t s = 0; s + 1 < targets.offsets.size(); ++s) {
    const int32_t first_row = whole_.sequence().offsets[s];
    for (int32_t i = targets.offsets[s]; i < targets.offsets[s + 1]; ++i) {
      const int64_t row = whole_.rows()[static_cast<size_t>(i)];
      const StepResult& step = *steps_[static_cast<size_t>(i)];
      for (int layer = 0; layer < network_->config().decoder_layers; ++layer) {
        SCOPED_TRACE(testing::Message() << "row " << row << " layer " << layer);
        const auto whole = [&](AttentionKind kind) {
          return probe.weights().at({kind, layer, row});
        };
        const auto at = static_cast<size_t>(layer);
        ExpectSameWeights(step.self[at], whole(AttentionKind::kDecoder),
                          row - first_row + 1);
        if (!has_memory) continue;
        const std::span<const int32_t> source = whole_.source().offsets;
        ExpectSameWeights(step.cross[at], whole(AttentionKind::kCross),
                          source[s + 1] - source[s]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, DecodeStep,
                         testing::ValuesIn(InEveryPrecision(EveryNetwork())),
                         NameOf);

}  // namespace
}  // namespace pipeformer
