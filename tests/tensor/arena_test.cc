#include "lib/tensor/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace pipeformer {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

bool IsAligned(const void* p) {
  return reinterpret_cast<uintptr_t>(p) % 64 == 0;
}

TEST(Arena, EveryBlockIsAlignedTo64Bytes) {
  Arena arena;
  for (const size_t bytes : {1, 63, 64, 65, 100, 5000000, 3, 0, 7}) {
    EXPECT_TRUE(IsAligned(arena.Bytes(bytes))) << bytes;
  }
  EXPECT_TRUE(IsAligned(arena.Array<double>(3)));
  EXPECT_TRUE(IsAligned(arena.NewMatrix(3, 5).data));
}

TEST(Arena, BlocksDoNotOverlap) {
  Arena arena;
  std::vector<Matrix> blocks;
  for (int64_t i = 1; i <= 200; ++i) {
    blocks.push_back(arena.NewMatrix(i, 37));
    for (int64_t j = 0; j < blocks.back().size(); ++j) {
      blocks.back().data[j] = static_cast<float>(i);
    }
  }
  for (int64_t i = 1; i <= 200; ++i) {
    const Matrix& m = blocks[static_cast<size_t>(i - 1)];
    for (int64_t j = 0; j < m.size(); ++j) {
      ASSERT_EQ(m.data[j], static_cast<float>(i));
    }
  }
}

TEST(Arena, NewMatrixIsDense) {
  Arena arena;
  const Matrix m = arena.NewMatrix(3, 5);
  EXPECT_EQ(m.rows, 3);
  EXPECT_EQ(m.cols, 5);
  EXPECT_EQ(m.stride, 5);
}

TEST(Arena, RewindingGivesTheSameMemoryAgain) {
  Arena arena;
  arena.Bytes(100);
  const Arena::Mark mark = arena.mark();
  void* first = arena.Bytes(1000);
  void* second = arena.Bytes(10);
  arena.Rewind(mark);
  EXPECT_EQ(arena.Bytes(1000), first);
  EXPECT_EQ(arena.Bytes(10), second);
}

TEST(Arena, ARewoundStepAllocatesNothing) {
  Arena arena;
  size_t held = 0;
  for (int step = 0; step < 10; ++step) {
    arena.Rewind({});
    for (int64_t i = 0; i < 30; ++i) arena.Bytes(i * kMegabyte / 3);
    if (step == 0) held = arena.capacity();
    EXPECT_EQ(arena.capacity(), held) << "step " << step;
  }
}

TEST(Arena, RewindingKeepsWhatWasBefore) {
  Arena arena;
  float* kept = arena.Array<float>(1000);
  for (int i = 0; i < 1000; ++i) kept[i] = static_cast<float>(i);
  const Arena::Mark mark = arena.mark();
  for (int round = 0; round < 3; ++round) {
    float* scratch = arena.Array<float>(5 * kMegabyte);
    for (int64_t i = 0; i < 5 * kMegabyte; ++i) scratch[i] = -1;
    arena.Rewind(mark);
  }
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(kept[i], static_cast<float>(i));
}

TEST(Arena, GrowthKeepsEarlierBlocksValid) {
  Arena arena;
  std::vector<int64_t*> blocks;
  for (int64_t i = 0; i < 50; ++i) {
    blocks.push_back(arena.Array<int64_t>(kMegabyte / 8));
    blocks.back()[0] = i;
    blocks.back()[kMegabyte / 8 - 1] = -i;
  }
  EXPECT_GE(arena.capacity(), 50u * kMegabyte);
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(blocks[static_cast<size_t>(i)][0], i);
    EXPECT_EQ(blocks[static_cast<size_t>(i)][kMegabyte / 8 - 1], -i);
  }
}

TEST(Arena, ABlockLargerThanEverythingHeldFits) {
  Arena arena;
  arena.Bytes(1);
  auto* big = static_cast<char*>(arena.Bytes(40 * kMegabyte));
  big[0] = 1;
  big[40 * kMegabyte - 1] = 2;
  EXPECT_GE(arena.capacity(), 40u * kMegabyte);
  EXPECT_LE(arena.capacity(), 50u * kMegabyte);
}

}  // namespace
}  // namespace pipeformer
