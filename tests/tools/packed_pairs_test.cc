#include "tools/packed_pairs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/sha256.h"
#include "lib/base/error.h"
#include "tests/formats/test_files.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

class PackedPairsTest : public testing::Test {
 protected:
  // A file whose pairs are {ids}, {ids, 3}.
  std::string Write(const std::string& name,
                    const std::vector<std::vector<int32_t>>& sentences) {
    PackedIds source, target;
    for (std::vector<int32_t> ids : sentences) {
      source.Add(ids);
      ids.push_back(3);
      target.Add(ids);
    }
    const std::string hash = Sha256Hex(vocabularies_.source->model());
    WriteTensorFile(PackCorpus({source.view(), target.view()}, {hash}),
                    Path(name));
    return Path(name);
  }

  const VocabularyPair vocabularies_ = JointVocabulary();
  PackedPairs pairs_{TrainedOn::kPairs, vocabularies_};
};

TEST_F(PackedPairsTest, SeveralFilesAreOneCorpus) {
  pairs_.Open(Write("a.safetensors", {{4}, {}, {5, 6}}));
  pairs_.Open(Write("b.safetensors", {{7}}));
  ASSERT_EQ(pairs_.all().size(), 4);
  EXPECT_EQ(pairs_.all().source[3][0], 7);
  pairs_.Keep([](auto source, auto) { return !source.empty(); });
  const PairCorpus kept = pairs_.corpus();
  ASSERT_EQ(kept.size(), 3);
  EXPECT_EQ(kept.source[1].size(), 2u);
  EXPECT_EQ(kept.target[1].size(), 3u);
  EXPECT_EQ(kept.source[2][0], 7);
}

TEST_F(PackedPairsTest, KeepingAllNeedsNoIndex) {
  pairs_.Open(Write("a.safetensors", {{4}, {5}}));
  pairs_.Keep([](auto, auto) { return true; });
  EXPECT_EQ(pairs_.corpus().size(), 2);
}

// What changes in the file changes in the corpus: it was not copied.
TEST_F(PackedPairsTest, IdsStayInTheFile) {
  const std::string path = Write("mapped.safetensors", {{4, 5, 6}});
  pairs_.Open(path);
  ASSERT_EQ(pairs_.corpus().source[0][1], 5);
  const std::string bytes = Bytes(path);
  const int32_t ids[] = {4, 5, 6, 4, 5, 6, 3};  // the end of the file
  const size_t begin = bytes.size() - sizeof(ids);
  ASSERT_EQ(bytes.compare(begin, sizeof(ids),
                          reinterpret_cast<const char*>(ids), sizeof(ids)),
            0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(begin + sizeof(int32_t)));
  file.put(7);
  file.close();
  EXPECT_EQ(pairs_.corpus().source[0][1], 7);
}

TEST_F(PackedPairsTest, RefusesIdsBeyondTheVocabulary) {
  const std::string path = Write("beyond.safetensors", {{8}});
  try {
    pairs_.Open(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    EXPECT_NE(std::string(error.what()).find("holds the id 8"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace pipeformer
