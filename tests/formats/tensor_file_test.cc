#include "formats/tensor_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

const std::vector<float> kFloats = {1, 2, 3, 4, 5, 6};

std::string Path(const std::string& name) {
  return (std::filesystem::path(testing::TempDir()) / name).string();
}

TensorCollection Sample() {
  TensorCollection sample;
  sample.metadata = {{"id", "7"}};
  sample.Add("w", ViewOf(std::span(kFloats), {2, 3}));
  return sample;
}

void ExpectError(const std::string& path, ExitCode code) {
  try {
    TensorFile::Open(path);
    FAIL() << path;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(std::string(error.what()).find(path), 0u) << error.what();
  }
}

TEST(TensorFile, WrittenFileIsMapped) {
  WriteTensorFile(Sample(), Path("w.safetensors"));
  const TensorFile file = TensorFile::Open(Path("w.safetensors"));
  const auto w = file.At("w", DType::kF32, {2, 3}).Elements<float>();
  EXPECT_EQ(std::vector<float>(w.begin(), w.end()), kFloats);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(w.data()) % 64, 0u);
  EXPECT_EQ(file.collection().metadata.at("id"), "7");
}

TEST(TensorFile, CopyKeepsTheBytesAlive) {
  WriteTensorFile(Sample(), Path("copy.safetensors"));
  std::optional<TensorFile> file = TensorFile::Open(Path("copy.safetensors"));
  const TensorFile copy = *file;
  file.reset();
  EXPECT_EQ(copy.At("w").Elements<float>()[5], 6.0f);
}

// A mapped file that is replaced meanwhile stays what it was.
TEST(TensorFile, ReplacedFileKeepsItsOldBytesForTheReader) {
  WriteTensorFile(Sample(), Path("r.safetensors"));
  const TensorFile old = TensorFile::Open(Path("r.safetensors"));
  WriteTensorFile({}, Path("r.safetensors"));
  EXPECT_EQ(old.At("w").Elements<float>()[5], 6.0f);
  EXPECT_TRUE(
      TensorFile::Open(Path("r.safetensors")).collection().tensors.empty());
}

TEST(TensorFile, MissingAndBadFilesAreTold) {
  ExpectError(Path("absent"), ExitCode::kInputMissing);
  ExpectError(testing::TempDir(), ExitCode::kInputOutput);
  ExpectError("/dev/null", ExitCode::kBadData);
  std::ofstream(Path("text")) << "hello, this is text and no tensor file\n";
  ExpectError(Path("text"), ExitCode::kBadData);
  WriteTensorFile(Sample(), Path("short.safetensors"));
  std::filesystem::resize_file(Path("short.safetensors"), 130);
  ExpectError(Path("short.safetensors"), ExitCode::kBadData);
}

TEST(TensorFile, PipeIsReadToItsEnd) {
  std::filesystem::remove(Path("fifo"));
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  std::thread writer(
      [] { std::ofstream(Path("fifo")) << SerializeSafetensors(Sample()); });
  const TensorFile file = TensorFile::Open(Path("fifo"));
  writer.join();
  EXPECT_EQ(file.At("w").Elements<float>()[5], 6.0f);
}

TEST(TensorView, ToFloatsKnowsEveryFloatingType) {
  const std::vector<uint16_t> halves = {0x3e00, 0xb400, 0x0001, 0x7c00,
                                        0xfc00, 0x8000, 0x7bff, 0x0400};
  const TensorView f16 = {DType::kF16, {8}, std::as_bytes(std::span(halves))};
  EXPECT_EQ(ToFloats(f16, "h"),
            (std::vector<float>{1.5f, -0.25f, 0x1p-24f, INFINITY, -INFINITY,
                                -0.0f, 65504.0f, 0x1p-14f}));
  EXPECT_TRUE(std::signbit(ToFloats(f16, "h")[5]));
  const std::vector<uint16_t> brains = {0x3fc0, 0xc000};
  const TensorView bf16 = {DType::kBF16, {2}, std::as_bytes(std::span(brains))};
  EXPECT_EQ(ToFloats(bf16, "b"), (std::vector<float>{1.5f, -2.0f}));
  const std::vector<double> doubles = {0.1};
  EXPECT_EQ(ToFloats(ViewOf(std::span(doubles), {1}), "d")[0], 0.1f);
  const std::vector<int32_t> ints = {1};
  EXPECT_THROW(ToFloats(ViewOf(std::span(ints), {1}), "i"), Error);
}

}  // namespace
}  // namespace pipeformer
