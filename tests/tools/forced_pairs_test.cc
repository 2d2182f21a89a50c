#include "tools/forced_pairs.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

class ForcedPairsTest : public testing::Test {
 protected:
  ForcedPairsTest() {
    const VocabularyPair vocabularies = TwoVocabularies();
    const std::string path = testing::TempDir() + "pairs.safetensors";
    WriteModel(*NewNetwork(ConfigFor(vocabularies), 3), vocabularies, path);
    model_ = LoadModel(path);
  }

  std::vector<ForcedRecord> Run(const std::vector<std::string>& lines,
                                const std::string& from,
                                const ForcedWishes& wishes = {}) {
    std::vector<InputRecord> records;
    for (size_t i = 0; i < lines.size(); ++i) {
      InputRecord record{.index = i, .line = {}, .stream = "f"};
      record.line.text = lines[i];
      record.line.number = static_cast<int64_t>(i) + 1;
      records.push_back(record);
    }
    std::vector<ForcedRecord> results;
    ForcedPairs(model_, from, wishes)
        .Run(records, [&](const InputRecord& input, ForcedRecord& pair) {
          EXPECT_EQ(input.index, results.size());
          results.push_back(std::move(pair));
        });
    EXPECT_EQ(results.size(), lines.size());
    return results;
  }

  Model model_;
};

TEST_F(ForcedPairsTest, APairDoesNotDependOnItsChunk) {
  std::vector<std::string> lines;
  for (int i = 0; i < 200; ++i) {
    lines.push_back(std::string(static_cast<size_t>(1 + i % 30), 'a') + " b\t" +
                    std::string(static_cast<size_t>(1 + i % 17), 'e') + " f");
    if (i % 10 == 3) lines.push_back("");
    if (i % 10 == 7) lines.push_back("no tab");
  }
  const auto together = Run(lines, "tsv");
  for (size_t i = 0; i < lines.size(); i += 13) {
    const ForcedRecord alone = std::move(Run({lines[i]}, "tsv")[0]);
    EXPECT_EQ(alone.result.token_log_probs, together[i].result.token_log_probs);
    EXPECT_EQ(alone.result.log_prob, together[i].result.log_prob);
    EXPECT_EQ(alone.blank, together[i].blank);
    EXPECT_EQ(alone.problem.empty(), together[i].problem.empty());
  }
}

TEST_F(ForcedPairsTest, EveryFormOfAPairIsTheSamePair) {
  const auto expected = std::move(Run({"ab c\tef"}, "tsv")[0]);
  const auto target = model_.vocabularies.target->Encode("ef");
  const std::string ids = Json(target.ids).dump();
  for (const std::string& line : std::vector<std::string>{
           R"({"source":"ab c","target":"ef"})",
           R"({"source":{"text":"ab c"},"target":{"text":"ef"}})",
           R"({"source":"ab c","target":{"ids":)" + ids + "}}",
           R"({"source":"ab c","hypotheses":[{"text":"ef","ids":)" + ids +
               R"(},{"text":"i"}]})"}) {
    const auto pair = std::move(Run({line}, "jsonl")[0]);
    EXPECT_EQ(pair.problem, "") << line;
    EXPECT_EQ(pair.result.token_log_probs, expected.result.token_log_probs)
        << line;
  }
}

TEST_F(ForcedPairsTest, IdsThatAreNotTheTextsOwnCutAreUsed) {
  const auto& target = *model_.vocabularies.target;
  const std::vector<int32_t> ids = {target.IdOf("e"), target.IdOf("f")};
  const auto pair =
      std::move(Run({R"({"source":"a","target":{"text":"ef","ids":)" +
                     Json(ids).dump() + "}}"},
                    "jsonl")[0]);
  EXPECT_EQ(pair.target.ids, ids);
  EXPECT_EQ(pair.target.tokens, (std::vector<std::string>{"e", "f"}));
  EXPECT_EQ(pair.result.token_log_probs.size(), 3u);
}

// Field cases empty-score-omitted and par-align-nan.
TEST_F(ForcedPairsTest, BlankSidesAreScoredAndBlankPairsKeepTheirPlace) {
  const auto pairs = Run({"\t", "a\t", "\te", "", "a\te"}, "tsv",
                         {.attention = WantAttention::kYes});
  EXPECT_EQ(pairs[1].result.token_log_probs.size(), 1u);
  EXPECT_EQ(pairs[2].result.token_log_probs.size(), 3u);
  for (const size_t i : {0, 3}) {
    EXPECT_TRUE(pairs[i].blank);
    EXPECT_TRUE(pairs[i].result.token_log_probs.empty());
  }
  for (const size_t i : {1, 2, 4}) {
    EXPECT_FALSE(pairs[i].blank);
    EXPECT_LT(pairs[i].result.log_prob, 0);
    for (const AttentionMatrix& m : pairs[i].result.attention) {
      for (const float w : m.weights) EXPECT_TRUE(w >= 0 && w <= 1.0001f);
    }
  }
}

TEST_F(ForcedPairsTest, ABadRecordSaysWhereAndWhatAndTheOthersGoOn) {
  const std::string long_side(50, 'a');
  const auto pairs =
      Run({R"({"source":"a","target":"e"})", "{", R"({"source":"a"})",
           R"({"source":"a","target":{"ids":[1,99]}})",
           R"({"id":"q","error":{"code":65,"message":"m","line":1}})",
           R"({"id":9,"source":")" + long_side + R"(","target":"e"})",
           R"({"source":"a","target":"e"})"},
          "jsonl");
  EXPECT_EQ(pairs[0].problem, "");
  EXPECT_EQ(pairs[1].problem.find("f:2: "), 0u);
  EXPECT_NE(pairs[2].problem.find("'target'"), std::string::npos);
  EXPECT_NE(pairs[3].problem.find("99"), std::string::npos);
  EXPECT_NE(pairs[3].problem.find("9 pieces"), std::string::npos);
  EXPECT_NE(pairs[4].problem.find("error record"), std::string::npos);
  EXPECT_EQ(pairs[4].record["id"], "q");
  EXPECT_NE(pairs[5].problem.find("51 pieces"), std::string::npos)
      << pairs[5].problem;
  EXPECT_NE(pairs[5].problem.find("at most 39"), std::string::npos);
  EXPECT_EQ(pairs[5].record["id"], 9);
  EXPECT_EQ(pairs[6].result.token_log_probs, pairs[0].result.token_log_probs);
}

}  // namespace
}  // namespace pipeformer
