#include "lib/nn/padded_masks.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace pipeformer {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

// The numbers of sentence s and head h, [queries, keys + extra].
std::vector<float> Values(const PaddedMasks& masks, size_t s, int64_t h,
                          size_t size) {
  const SentenceMask& mask = masks.sentences()[s];
  const float* first = mask.values + h * mask.head_stride;
  return {first, first + size};
}

TEST(PaddedMasks, SharedAndPaddingAddUp) {
  PaddedMasks masks({.sentences = 2, .queries = 2, .keys = 3});
  masks.Add(std::vector<float>{1, 2, 3, 4, 5, 6}, masks.Shared());
  masks.Add(std::vector<float>{0, 0, kHidden, 10, 20, 30}, masks.OfPadding());
  EXPECT_EQ(Values(masks, 0, 0, 6),
            (std::vector<float>{1, 2, kHidden, 4, 5, kHidden}));
  EXPECT_EQ(Values(masks, 1, 0, 6),
            (std::vector<float>{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(masks.sentences()[1].head_stride, 0);
}

// Field case att-3d-index.
TEST(PaddedMasks, HeadsAreInnermostOfTheFirstAxis) {
  PaddedMasks masks({.sentences = 2, .heads = 2, .queries = 1, .keys = 2});
  masks.Add(std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31}, masks.OfHeads());
  EXPECT_EQ(Values(masks, 0, 1, 2), (std::vector<float>{10, 11}));
  EXPECT_EQ(Values(masks, 1, 0, 2), (std::vector<float>{20, 21}));
}

TEST(PaddedMasks, ExtraKeysStayOpen) {
  PaddedMasks masks(
      {.sentences = 1, .heads = 2, .queries = 2, .keys = 1, .extra_keys = 2});
  masks.Add(std::vector<float>(4, kHidden), masks.OfHeads());
  for (const int64_t head : {0, 1}) {
    EXPECT_EQ(Values(masks, 0, head, 6),
              (std::vector<float>{kHidden, 0, 0, kHidden, 0, 0}));
  }
}

TEST(PaddedMasks, CausalCountsFromTheFirstOfEach) {
  PaddedMasks wide({.sentences = 1, .queries = 2, .keys = 3});
  wide.AddCausal();
  EXPECT_EQ(Values(wide, 0, 0, 6),
            (std::vector<float>{0, kHidden, kHidden, 0, 0, kHidden}));
  PaddedMasks tall({.sentences = 1, .queries = 3, .keys = 1});
  tall.AddCausal();
  EXPECT_EQ(Values(tall, 0, 0, 3), (std::vector<float>{0, 0, 0}));
}

TEST(PaddedMasks, GradientsAreSummedOverWhatAMaskIsFor) {
  PaddedMasks masks(
      {.sentences = 2, .heads = 2, .queries = 1, .keys = 2, .extra_keys = 1});
  EXPECT_EQ(masks.sentences()[0].gradient, nullptr);
  masks.WantGradient();
  // Sentence s, head h and key k: 100 s + 10 h + k; the extra key's is lost.
  for (size_t s = 0; s < 2; ++s) {
    const SentenceMask& mask = masks.sentences()[s];
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t k = 0; k < 3; ++k) {
        mask.gradient[h * mask.head_stride + k] =
            static_cast<float>(100 * static_cast<int64_t>(s) + 10 * h + k);
      }
    }
  }
  std::vector<float> shared(2), heads(8), padding(4);
  masks.AddGradient(masks.Shared(), shared);
  masks.AddGradient(masks.OfHeads(), heads);
  masks.AddGradient(masks.OfPadding(), padding);
  EXPECT_EQ(shared, (std::vector<float>{220, 224}));
  EXPECT_EQ(heads, (std::vector<float>{0, 1, 10, 11, 100, 101, 110, 111}));
  EXPECT_EQ(padding, (std::vector<float>{10, 12, 210, 212}));
}

}  // namespace
}  // namespace pipeformer
