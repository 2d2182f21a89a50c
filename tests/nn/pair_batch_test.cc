// Where the special pieces stand, written out: 1 begins, 2 ends a target, 3
// ends a source.
#include "lib/nn/pair_batch.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

constexpr Boundary kBoundary{.bos = 1, .eos = 2, .source_eos = 3};

PairBatch Batch(ModelType type, TrainedOn trained_on,
                Predict predict = Predict::kTarget) {
  return {{.type = type, .trained_on = trained_on}, kBoundary, predict};
}

// Two pairs, the second without a target.
void AppendBoth(PairBatch& batch) {
  batch.Append(Ids{10, 11}, Ids{20, 21, 22});
  batch.Append(Ids{12}, {});
}

void ExpectRagged(Ragged ragged, const Ids& ids, const Ids& offsets) {
  EXPECT_EQ(Ids(ragged.ids.begin(), ragged.ids.end()), ids);
  EXPECT_EQ(Ids(ragged.offsets.begin(), ragged.offsets.end()), offsets);
}

void ExpectRows(const PairBatch& batch, const Ids& rows) {
  EXPECT_EQ(Ids(batch.rows().begin(), batch.rows().end()), rows);
}

TEST(PairBatch, OfAnEncoderDecoder) {
  PairBatch batch = Batch(ModelType::kEncoderDecoder, TrainedOn::kPairs);
  AppendBoth(batch);
  ExpectRagged(batch.source(), {10, 11, 3, 12, 3}, {0, 3, 5});
  ExpectRagged(batch.sequence(), {1, 20, 21, 22, 1}, {0, 4, 5});
  ExpectRagged(batch.targets(), {20, 21, 22, 2, 2}, {0, 4, 5});
  ExpectRows(batch, {0, 1, 2, 3, 4});
  EXPECT_TRUE(batch.PredictsEveryRow());
}

TEST(PairBatch, OfALanguageModelOfPairs) {
  PairBatch batch = Batch(ModelType::kLanguageModel, TrainedOn::kPairs);
  AppendBoth(batch);
  ExpectRagged(batch.source(), {}, {0});
  ExpectRagged(batch.sequence(), {1, 10, 11, 3, 20, 21, 22, 1, 12, 3},
               {0, 7, 10});
  ExpectRagged(batch.targets(), {20, 21, 22, 2, 2}, {0, 4, 5});
  ExpectRows(batch, {3, 4, 5, 6, 9});  // from the end symbol of the source on
  EXPECT_FALSE(batch.PredictsEveryRow());
}

TEST(PairBatch, OfALanguageModelThatPredictsBoth) {
  PairBatch batch =
      Batch(ModelType::kLanguageModel, TrainedOn::kPairs, Predict::kBoth);
  AppendBoth(batch);
  ExpectRagged(batch.sequence(), {1, 10, 11, 3, 20, 21, 22, 1, 12, 3},
               {0, 7, 10});
  ExpectRagged(batch.targets(), {10, 11, 3, 20, 21, 22, 2, 12, 3, 2},
               {0, 7, 10});
  ExpectRows(batch, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_TRUE(batch.PredictsEveryRow());
}

TEST(PairBatch, OfALanguageModelOfSentences) {
  PairBatch batch = Batch(ModelType::kLanguageModel, TrainedOn::kSentences);
  AppendBoth(batch);
  ExpectRagged(batch.sequence(), {1, 10, 11, 20, 21, 22, 1, 12}, {0, 6, 8});
  ExpectRagged(batch.targets(), {20, 21, 22, 2, 2}, {0, 4, 5});
  ExpectRows(batch, {2, 3, 4, 5, 7});
}

TEST(PairBatch, OfSentencesInTrainingHasNoSource) {
  PairBatch batch = Batch(ModelType::kLanguageModel, TrainedOn::kSentences);
  batch.Append({}, Ids{20, 21});
  batch.Append({}, {});
  ExpectRagged(batch.sequence(), {1, 20, 21, 1}, {0, 3, 4});
  ExpectRagged(batch.targets(), {20, 21, 2, 2}, {0, 3, 4});
  EXPECT_TRUE(batch.PredictsEveryRow());
}

TEST(PairBatch, TellsHowManyRowsAPairTakes) {
  const TransformerConfig translates{.max_positions = 20};
  const TransformerConfig pairs{.type = ModelType::kLanguageModel,
                                .max_positions = 20};
  const TransformerConfig sentences{.type = ModelType::kLanguageModel,
                                    .trained_on = TrainedOn::kSentences,
                                    .max_positions = 20};
  EXPECT_EQ(PromptRows(translates, 2), 1);
  EXPECT_EQ(PromptRows(pairs, 2), 4);
  EXPECT_EQ(PromptRows(sentences, 2), 3);
  for (const auto& config : {translates, pairs, sentences}) {
    EXPECT_EQ(NumTargets(config, Predict::kTarget, 2, 3), 4);
  }
  EXPECT_EQ(NumTargets(pairs, Predict::kBoth, 2, 3), 7);
  EXPECT_EQ(MaxSidePieces(translates), 19);
  EXPECT_EQ(MaxSidePieces(pairs), 9);  // <s> 9 </s> 9 are 20
  EXPECT_EQ(MaxSidePieces(sentences), 19);
}

TEST(PairBatch, WeighsEveryTargetOfAPair) {
  PairBatch batch = Batch(ModelType::kEncoderDecoder, TrainedOn::kPairs);
  const std::vector<int32_t> source = {10}, target = {20, 21};
  batch.Append(source, target);
  EXPECT_TRUE(batch.weights().empty());
  batch.Weigh(0.5f);
  batch.Append(source, source);
  batch.Weigh(2);
  const auto weights = batch.weights();
  EXPECT_EQ(std::vector<float>(weights.begin(), weights.end()),
            (std::vector<float>{0.5f, 0.5f, 0.5f, 2, 2}));
  batch.Clear();
  EXPECT_TRUE(batch.weights().empty());
}

TEST(PairBatch, KeepsTheLinksOfEachPair) {
  PairBatch batch = Batch(ModelType::kEncoderDecoder, TrainedOn::kPairs);
  const std::vector<int32_t> pieces = {10, 11};
  EXPECT_FALSE(batch.is_aligned());
  for (const std::vector<Link>& links :
       {std::vector<Link>{{0, 1}}, {}, {{0, 0}, {1, 1}}}) {
    batch.Append(pieces, pieces);
    batch.Align(links);
  }
  EXPECT_TRUE(batch.is_aligned());
  EXPECT_EQ(batch.LinksOf(0).size(), 1u);
  EXPECT_TRUE(batch.LinksOf(1).empty());
  EXPECT_EQ(batch.LinksOf(2)[1], (Link{1, 1}));
  batch.Clear();
  EXPECT_FALSE(batch.is_aligned());
}

TEST(PairBatch, IsEmptyAgainOnceCleared) {
  for (const ModelType type :
       {ModelType::kEncoderDecoder, ModelType::kLanguageModel}) {
    PairBatch batch = Batch(type, TrainedOn::kPairs);
    AppendBoth(batch);
    batch.Clear();
    ExpectRagged(batch.source(), {}, {0});
    ExpectRagged(batch.sequence(), {}, {0});
    ExpectRagged(batch.targets(), {}, {0});
    ExpectRows(batch, {});
    AppendBoth(batch);
    ExpectRagged(batch.targets(), {20, 21, 22, 2, 2}, {0, 4, 5});
  }
}

}  // namespace
}  // namespace pipeformer
