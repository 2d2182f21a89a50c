#include "formats/packed_corpus.h"

#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

PackedIds Pack(const std::vector<Ids>& sentences) {
  PackedIds side;
  for (const Ids& sentence : sentences) side.Add(sentence);
  return side;
}

std::vector<IdBlock> Views(const std::vector<PackedIds>& sides) {
  std::vector<IdBlock> views;
  for (const PackedIds& side : sides) views.push_back(side.view());
  return views;
}

TensorFile Written(const TensorCollection& corpus) {
  return TensorFile::FromBytes(SerializeSafetensors(corpus), "corpus");
}

TEST(PackedCorpus, GivesBackTheSentencesOfBothSides) {
  const std::vector<PackedIds> sides = {Pack({{5, 6, 7}, {}, {8}}),
                                        Pack({{1}, {2, 3}, {}})};
  const TensorFile file = Written(PackCorpus(Views(sides), {"aa", "bb"}));
  const PackedCorpus corpus = ReadPackedCorpus(file);
  ASSERT_EQ(corpus.sides.size(), 2u);
  EXPECT_EQ(corpus.vocabulary_hashes, (std::vector<std::string>{"aa", "bb"}));
  for (size_t side = 0; side < 2; ++side) {
    ASSERT_EQ(corpus.sides[side].size(), 3);
    EXPECT_EQ(std::vector(corpus.sides[side].ids.begin(),
                          corpus.sides[side].ids.end()),
              sides[side].ids);
  }
  EXPECT_EQ(corpus.largest_ids, (std::vector<int32_t>{8, 3}));
  const auto last = corpus.sides[0][2];
  EXPECT_EQ(Ids(last.begin(), last.end()), Ids{8});
  EXPECT_TRUE(corpus.sides[0][1].empty());
}

TEST(PackedCorpus, OneSideOfSentencesAndOneVocabulary) {
  const std::vector<PackedIds> sides = {Pack({{5}, {6}})};
  const TensorFile file = Written(PackCorpus(Views(sides), {"aa"}));
  const PackedCorpus corpus = ReadPackedCorpus(file);
  EXPECT_EQ(corpus.sides.size(), 1u);
  EXPECT_EQ(corpus.vocabulary_hashes, std::vector<std::string>{"aa"});
  EXPECT_EQ(file.collection().metadata.at("format"), "pipeformer-corpus");
}

// Field case perf-big-vocab: neither 16 bits nor a float would hold these.
TEST(PackedCorpus, LargeIdsAreThemselves) {
  const Ids ids = {65535, 65536, 16777216, 16777217, 2147483646};
  const TensorFile file = Written(PackCorpus(Views({Pack({ids})}), {"aa"}));
  const PackedCorpus corpus = ReadPackedCorpus(file);
  const auto sentence = corpus.sides[0][0];
  EXPECT_EQ(Ids(sentence.begin(), sentence.end()), ids);
  EXPECT_EQ(corpus.largest_ids, Ids{2147483646});
}

TEST(PackedCorpus, NothingIsACorpusToo) {
  const std::vector<PackedIds> sides = {Pack({})};
  const TensorFile file = Written(PackCorpus(Views(sides), {"aa"}));
  EXPECT_EQ(ReadPackedCorpus(file).sides[0].size(), 0);
}

TEST(PackedCorpus, DamageIsRefused) {
  const std::vector<PackedIds> good = {Pack({{5, 6}, {7}})};
  const auto refused = [](const TensorCollection& corpus) {
    const TensorFile file = Written(corpus);
    try {
      ReadPackedCorpus(file);
    } catch (const Error& error) {
      return error.code() == ExitCode::kBadData;
    }
    return false;
  };
  EXPECT_FALSE(refused(PackCorpus(Views(good), {"aa"})));
  for (const char* key : {"format", "version"}) {
    TensorCollection corpus = PackCorpus(Views(good), {"aa"});
    corpus.metadata[key] = "other";
    EXPECT_TRUE(refused(corpus)) << key;
    corpus.metadata.erase(key);
    EXPECT_TRUE(refused(corpus)) << key;
  }
  for (const std::vector<int64_t>& offsets :
       {std::vector<int64_t>{}, {0, 2}, {1, 3}, {0, 3, 2, 3}, {0, -1, 3}}) {
    std::vector<PackedIds> bad = good;
    bad[0].offsets = offsets;
    EXPECT_TRUE(refused(PackCorpus(Views(bad), {"aa"})));
  }
  std::vector<PackedIds> negative = {Pack({{5, -6}})};
  EXPECT_TRUE(refused(PackCorpus(Views(negative), {"aa"})));
  std::vector<PackedIds> uneven = {Pack({{1}, {2}}), Pack({{1}, {2}})};
  TensorCollection corpus = PackCorpus(Views(uneven), {"aa"});
  const std::vector<int64_t> one = {0, 2};
  for (NamedTensor& tensor : corpus.tensors) {
    if (tensor.name == "target.offsets") {
      tensor.tensor = ViewOf(std::span<const int64_t>(one), {2});
    }
  }
  EXPECT_TRUE(refused(corpus));
}

}  // namespace
}  // namespace pipeformer
