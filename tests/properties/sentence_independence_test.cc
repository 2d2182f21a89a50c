// A sentence's result does not depend on its neighbours, its place, the size
// of the batch or the number of threads, in any bit.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "lib/base/random.h"
#include "lib/nn/transformer.h"
#include "tests/nn/test_network.h"

// Of the OpenMP library that oneDNN uses.
extern "C" void omp_set_num_threads(int count);
extern "C" int omp_get_max_threads(void);

namespace pipeformer {
namespace {

constexpr size_t kSentences = 24;

class SentenceIndependence : public testing::TestWithParam<NamedConfig> {
 protected:
  SentenceIndependence() {
    const TransformerConfig& config = GetParam().config;
    network_ = RandomNetwork(config, 11);
    network_->Pack(GetParam().precision);
    std::vector<int64_t> source_lengths, target_lengths;
    Random random(12);
    for (size_t s = 0; s < kSentences; ++s) {
      source_lengths.push_back(1 + static_cast<int64_t>(random.Below(30)));
      target_lengths.push_back(1 + static_cast<int64_t>(random.Below(30)));
    }
    sources_ = RandomBatch(source_lengths, config.source_vocab, Random(13));
    targets_ = RandomBatch(target_lengths, config.target_vocab, Random(14));
    for (size_t s = 0; s < kSentences; ++s) {
      alone_.push_back(LogitsOf({s})[0]);
    }
  }

  // The logits of the sentences `which`, computed as one batch.
  std::vector<std::vector<float>> LogitsOf(const std::vector<size_t>& which) {
    Arena arena;
    Context context{.arena = arena};
    const PairBatch batch = PairsOf(network_->config(), Select(sources_, which),
                                    Select(targets_, which));
    const Variable hidden = network_->Predict(context, batch);
    const Matrix logits = network_->output()(context, hidden).value;
    const std::span<const int32_t> offsets = batch.targets().offsets;
    std::vector<std::vector<float>> results;
    for (size_t s = 0; s < which.size(); ++s) {
      results.emplace_back(logits.Row(offsets[s]), logits.Row(offsets[s + 1]));
    }
    return results;
  }

  void ExpectSameAsAlone(const std::vector<size_t>& which) {
    const std::vector<std::vector<float>> results = LogitsOf(which);
    for (size_t s = 0; s < which.size(); ++s) {
      const std::vector<float>& alone = alone_[which[s]];
      ASSERT_EQ(results[s].size(), alone.size());
      EXPECT_EQ(std::memcmp(results[s].data(), alone.data(),
                            alone.size() * sizeof(float)),
                0)
          << "sentence " << which[s] << " in a batch of " << which.size();
    }
  }

  std::unique_ptr<Transformer> network_;
  RaggedIds sources_, targets_;
  std::vector<std::vector<float>> alone_;
};

TEST_P(SentenceIndependence, OfOrderAndSizeOfTheBatch) {
  Random random(15);
  for (uint64_t round = 0; round < 12; ++round) {
    std::vector<size_t> which;
    for (size_t s = 0; s < kSentences; ++s) which.push_back(s);
    Shuffle(which, random.Fork(round));
    which.resize(round == 0 ? kSentences : 1 + random.Below(kSentences));
    ExpectSameAsAlone(which);
  }
}

TEST_P(SentenceIndependence, OfCopiesOfItself) {
  ExpectSameAsAlone(std::vector<size_t>(30, 3));
}

TEST_P(SentenceIndependence, OfAnEmptyNeighbour) {
  sources_.offsets.push_back(sources_.offsets.back());
  targets_.offsets.push_back(targets_.offsets.back());
  alone_.push_back(LogitsOf({kSentences})[0]);
  ExpectSameAsAlone({0, kSentences, 1});
  ExpectSameAsAlone({kSentences, 2});
  ExpectSameAsAlone({5, kSentences});
}

TEST_P(SentenceIndependence, OfTheNumberOfThreads) {
  std::vector<size_t> all;
  for (size_t s = 0; s < kSentences; ++s) all.push_back(s);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    ExpectSameAsAlone(all);
  }
  omp_set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(Networks, SentenceIndependence,
                         testing::ValuesIn(InEveryPrecision(EveryNetwork())),
                         NameOf);

}  // namespace
}  // namespace pipeformer
