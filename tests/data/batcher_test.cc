#include "lib/data/batcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/data/test_corpus.h"

namespace pipeformer {
namespace {

int64_t SourceRows(const PairCorpus& corpus, std::span<const int64_t> pairs) {
  int64_t rows = 0;
  for (const int64_t s : pairs) {
    rows += static_cast<int64_t>(corpus.source[s].size()) + 1;
  }
  return rows;
}

int64_t TargetRows(const PairCorpus& corpus, std::span<const int64_t> pairs) {
  int64_t rows = 0;
  for (const int64_t s : pairs) {
    rows += static_cast<int64_t>(corpus.target[s].size()) + 1;
  }
  return rows;
}

std::vector<int64_t> InOrder(const EpochBatches& batches) {
  std::vector<int64_t> pairs;
  for (const Batch& batch : batches) {
    pairs.insert(pairs.end(), batch.begin(), batch.end());
  }
  return pairs;
}

class Epoch : public testing::Test {
 protected:
  Epoch()
      : memory_(RandomCorpus(1000, 40, 1)),
        corpus_(memory_.view()),
        options_{.batch_rows = 200} {}

  TestCorpus memory_;
  PairCorpus corpus_;
  BatcherOptions options_;
};

TEST_F(Epoch, HasEveryPairOnce) {
  std::vector<int64_t> pairs = InOrder(MakeEpoch(corpus_, options_, Random(2)));
  ASSERT_EQ(pairs.size(), 1000u);
  std::sort(pairs.begin(), pairs.end());
  for (int64_t s = 0; s < 1000; ++s) {
    EXPECT_EQ(pairs[static_cast<size_t>(s)], s);
  }
}

TEST_F(Epoch, KeepsItsBudgetOnBothSides) {
  for (const Batch& batch : MakeEpoch(corpus_, options_, Random(3))) {
    ASSERT_FALSE(batch.empty());
    EXPECT_LE(SourceRows(corpus_, batch), 200);
    EXPECT_LE(TargetRows(corpus_, batch), 200);
  }
}

TEST_F(Epoch, IsAFunctionOfItsSeed) {
  const auto epoch = MakeEpoch(corpus_, options_, Random(4));
  EXPECT_EQ(MakeEpoch(corpus_, options_, Random(4)), epoch);
  EXPECT_NE(MakeEpoch(corpus_, options_, Random(5)), epoch);
}

TEST_F(Epoch, SortsEachBatchByLength) {
  for (const Batch& batch : MakeEpoch(corpus_, options_, Random(6))) {
    for (size_t i = 1; i < batch.size(); ++i) {
      const auto lengths = [&](int64_t s) {
        return std::pair(corpus_.target[s].size(), corpus_.source[s].size());
      };
      EXPECT_LE(lengths(batch[i - 1]), lengths(batch[i]));
    }
  }
}

// Batches of one length would pull the network from length to length.
TEST_F(Epoch, MixesLengthsInABatch) {
  const auto epoch = MakeEpoch(corpus_, options_, Random(7));
  size_t spread = 0;
  for (const Batch& batch : epoch) {
    spread += corpus_.target[batch.back()].size() -
              corpus_.target[batch.front()].size();
  }
  EXPECT_GT(spread, 20 * epoch.size());  // of at most 39
}

TEST(MakeEpoch, GivesALongPairABatchOfItsOwn) {
  TestCorpus memory;
  memory.Add({3, 4}, {5});
  memory.Add(std::vector<int32_t>(500, 3), {5});
  memory.Add({3}, std::vector<int32_t>(101, 3));
  memory.Add({3}, {4, 5});
  const PairCorpus corpus = memory.view();
  const auto epoch = MakeEpoch(corpus, {.batch_rows = 100}, Random(1));
  EXPECT_EQ(InOrder(epoch).size(), 4u);
  for (const Batch& batch : epoch) {
    for (const int64_t s : batch) {
      if (s == 1 || s == 2) {
        EXPECT_EQ(batch.size(), 1u);
      }
    }
  }
  EXPECT_EQ(RowsOf(corpus, 0), 3);
  EXPECT_EQ(RowsOf(corpus, 1), 501);
  EXPECT_EQ(RowsOf(corpus, 2), 102);
}

TEST(MakeEpoch, IsEmptyForAnEmptyCorpus) {
  EXPECT_TRUE(MakeEpoch(TestCorpus().view(), {}, Random(1)).empty());
}

TEST(Split, CoversTheBatchInOrderWithAboutEqualRows) {
  const TestCorpus memory = RandomCorpus(300, 40, 10);
  const PairCorpus corpus = memory.view();
  Batch batch(300);
  std::iota(batch.rbegin(), batch.rend(), 0);
  const int64_t total = SourceRows(corpus, batch) + TargetRows(corpus, batch);
  for (const int64_t count : {1, 2, 3, 7, 16}) {
    const auto parts = Split(corpus, batch, count);
    EXPECT_EQ(static_cast<int64_t>(parts.size()), count);
    std::vector<int64_t> joined;
    for (const auto& part : parts) {
      joined.insert(joined.end(), part.begin(), part.end());
      const int64_t rows = SourceRows(corpus, part) + TargetRows(corpus, part);
      EXPECT_NEAR(static_cast<double>(rows),
                  static_cast<double>(total) / static_cast<double>(count),
                  82);  // the longest pair
    }
    EXPECT_EQ(joined, batch);
  }
}

TEST(Split, GivesFewerPartsThanPairsNeed) {
  const TestCorpus memory = RandomCorpus(3, 5, 11);
  const Batch batch = {2, 0, 1};
  const auto parts = Split(memory.view(), batch, 8);
  EXPECT_LE(parts.size(), 3u);
  std::vector<int64_t> joined;
  for (const auto& part : parts) {
    EXPECT_FALSE(part.empty());
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, batch);
}

}  // namespace
}  // namespace pipeformer
