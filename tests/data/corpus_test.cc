#include "lib/data/corpus.h"

#include <gtest/gtest.h>

namespace pipeformer {
namespace {

using Ids = std::vector<int32_t>;

Ids At(const IdList& list, int64_t s) {
  return {list[s].begin(), list[s].end()};
}

class Blocks : public testing::Test {
 protected:
  // Sentences {1, 2}, {}, {3}; none; {4}, {5, 6}.
  const Ids first_ids_ = {1, 2, 3}, last_ids_ = {4, 5, 6};
  const std::vector<int64_t> first_ = {0, 2, 2, 3}, none_ = {0},
                             last_ = {0, 1, 3};
  const std::vector<IdBlock> blocks_ = {
      {first_ids_, first_}, {{}, none_}, {last_ids_, last_}};
};

TEST_F(Blocks, AreOneListInTheirOrder) {
  const IdList list(blocks_);
  ASSERT_EQ(list.size(), 5);
  EXPECT_EQ(At(list, 0), (Ids{1, 2}));
  EXPECT_EQ(At(list, 1), Ids{});
  EXPECT_EQ(At(list, 2), Ids{3});
  EXPECT_EQ(At(list, 3), Ids{4});
  EXPECT_EQ(At(list, 4), (Ids{5, 6}));
}

TEST_F(Blocks, AreNotCopied) {
  const IdList list(blocks_);
  EXPECT_EQ(list[2].data(), first_ids_.data() + 2);
  EXPECT_EQ(list[4].data(), last_ids_.data() + 1);
}

TEST_F(Blocks, AreLeftOutByNumber) {
  const std::vector<uint32_t> kept = {0, 2, 4};
  const IdList list(blocks_, kept);
  ASSERT_EQ(list.size(), 3);
  EXPECT_EQ(At(list, 0), (Ids{1, 2}));
  EXPECT_EQ(At(list, 1), Ids{3});
  EXPECT_EQ(At(list, 2), (Ids{5, 6}));
  EXPECT_EQ(IdList(blocks_, std::span<const uint32_t>()).size(), 0);
}

TEST(IdList, OfEmptySentences) {
  const IdList list = IdList::OfEmpty(3);
  EXPECT_EQ(list.size(), 3);
  EXPECT_TRUE(list[2].empty());
  EXPECT_EQ(IdList().size(), 0);
}

}  // namespace
}  // namespace pipeformer
