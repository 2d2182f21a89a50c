#include "formats/npz.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "formats/tensor_file.h"
#include "formats/zip_writer.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

constexpr char kData[] = "tests/formats/data/";

std::string Contents(const std::string& name) {
  std::ifstream file(kData + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

auto Parse(const std::string& bytes) {
  return ParseNpz(std::as_bytes(std::span(bytes)), "f.npz");
}

void ExpectRefused(const std::string& bytes, const std::string& message) {
  try {
    Parse(bytes);
    FAIL() << "wanted '" << message << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos)
        << "wanted '" << message << "', got '" << error.what() << "'";
  }
}

// `a` is a [2, 3] float array 0..5, `b` a big-endian column-major [3, 2] int64
// array 0..5; NumPy 1.24 wrote the files.
void ExpectSample(const std::string& bytes) {
  const auto tensors = Parse(bytes);
  ASSERT_GE(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].first, "a");
  EXPECT_EQ(tensors[1].first, "b");
  EXPECT_EQ(tensors[0].second.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors[1].second.shape, (std::vector<int64_t>{3, 2}));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(tensors[0].second.View().Elements<float>()[i], i);
    EXPECT_EQ(tensors[1].second.View().Elements<int64_t>()[i], i);
  }
}

TEST(Npz, ReadsStoredDeflatedAnd64BitArchives) {
  ExpectSample(Contents("stored.npz"));
  ExpectSample(Contents("deflated.npz"));
  std::string zip64 = Contents("zip64.npz");
  ExpectSample(zip64);
  // An end record that refers to its 64-bit sibling, as large archives have.
  for (size_t i = zip64.size() - 14; i < zip64.size() - 2; ++i) {
    zip64[i] = '\xff';
  }
  ExpectSample(zip64);
  const auto zeros = Parse(Contents("deflated.npz"))[2].second;
  EXPECT_EQ(zeros.bytes, std::vector<std::byte>(90000));
}

TEST(Npz, WrittenTensorsComeBackAndBytesAreTheSame) {
  std::vector<float> floats(24);
  std::iota(floats.begin(), floats.end(), 0.5f);
  TensorCollection collection;
  collection.Add("encoder.0/weights", ViewOf(std::span(floats), {2, 3, 4}));
  collection.Add("\xc3\xa9", ViewOf(std::span(floats).first(1), {}));
  const std::string path = testing::TempDir() + "/w.npz";
  WriteTensorFile(collection, path);
  const TensorFile file = TensorFile::Open(path);
  const auto back = file.At("encoder.0/weights", DType::kF32, {2, 3, 4});
  EXPECT_EQ(back.Elements<float>()[23], 23.5f);
  EXPECT_EQ(file.At("\xc3\xa9", DType::kF32, {}).Elements<float>()[0], 0.5f);
  std::ostringstream first, second;
  WriteNpz(collection, first);
  WriteNpz(file.collection(), second);
  EXPECT_EQ(first.str(), second.str());
}

TEST(Npz, NpyFileHoldsOneTensor) {
  const std::vector<float> floats = {1, 2};
  TensorCollection collection;
  collection.Add("w", ViewOf(std::span(floats), {2}));
  const std::string path = testing::TempDir() + "/w.npy";
  WriteTensorFile(collection, path);
  EXPECT_EQ(TensorFile::Open(path).At("array").Elements<float>()[1], 2.0f);
  collection.Add("v", ViewOf(std::span(floats), {2}));
  EXPECT_THROW(WriteTensorFile(collection, path), Error);
  EXPECT_EQ(TensorFile::Open(path).At("array").Elements<float>()[1], 2.0f);
}

TEST(Npz, DamageIsNamed) {
  const std::string good = Contents("stored.npz");
  ExpectRefused("", "no directory at the end");
  ExpectRefused(good.substr(0, good.size() - 1), "no directory at the end");
  std::string bad = good;
  bad[170] ^= 1;  // inside the data of `a`
  ExpectRefused(bad, "member 'a.npy': wrong checksum");
  bad = Contents("deflated.npz");
  bad[200] ^= 0x55;
  ExpectRefused(bad, "member 'b.npy': its deflated data are damaged");
}

// A directory that promises less than the data hold: unpacking stops there.
TEST(Npz, UnpackingStopsAtThePromisedSize) {
  std::string bomb = Contents("deflated.npz");
  const size_t entry = bomb.rfind("PK\1\2");
  ASSERT_EQ(bomb.substr(entry + 46, 9), "zeros.npy");
  bomb.replace(entry + 24, 4, std::string("\x64\0\0\0", 4));
  ExpectRefused(bomb,
                "member 'zeros.npy': has 101 bytes, the directory says 100");
}

// A directory that promises 2^64 - 1 bytes.
TEST(Npz, AbsurdSizeIsRefused) {
  std::string absurd = Contents("zip64.npz");
  const size_t entry = absurd.find("PK\1\2");
  const size_t field = entry + 46 + std::string("a.npy").size() + 4;
  absurd.replace(field, 8, std::string(8, '\xff'));
  ExpectRefused(absurd,
                "has 152 bytes, the directory says 18446744073709551615");
}

TEST(Npz, StrangeMembersAreRefused) {
  const auto archive = [](const std::vector<std::string>& names) {
    std::ostringstream out;
    ZipWriter writer(out);
    for (const std::string& name : names) writer.Add(name, "text");
    writer.Finish();
    return out.str();
  };
  ExpectRefused(archive({"readme.txt"}),
                "f.npz: member 'readme.txt' is no .npy file");
  ExpectRefused(archive({"a.npy"}), "member 'a.npy': does not begin with");
  ExpectRefused(archive({"a.npy", "a.npy"}), "member 'a.npy': occurs twice");
  std::string encrypted = archive({"a.npy"});
  encrypted[encrypted.rfind("PK\1\2") + 8] = 1;
  ExpectRefused(encrypted, "is encrypted");
  std::string method = archive({"a.npy"});
  method[method.rfind("PK\1\2") + 10] = 12;
  ExpectRefused(method, "method 12, known are");
  EXPECT_TRUE(Parse(archive({})).empty());
}

}  // namespace
}  // namespace pipeformer
