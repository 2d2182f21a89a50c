#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "formats/little_endian.h"
#include "formats/tensor_file.h"
#include "lib/base/error.h"
#include "tests/formats/fixtures.h"

namespace pipeformer {
namespace {

// A file with this header and this many zero bytes of data.
std::string FileWith(const std::string& header, size_t data_bytes) {
  std::string bytes;
  AppendLittleEndian<uint64_t>(header.size(), bytes);
  return bytes + header + std::string(data_bytes, '\0');
}

std::string Entry(const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

// The message with which `bytes` are refused; empty if they are accepted.
std::string Refusal(const std::string& bytes) {
  try {
    TensorFile::FromBytes(bytes, "f");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "";
}

void ExpectRefused(const std::string& bytes, const std::string& message) {
  const std::string refusal = Refusal(bytes);
  EXPECT_NE(refusal.find(message), std::string::npos)
      << "wanted '" << message << "', got '" << refusal << "'";
}

TensorCollection Sample(const std::vector<float>& floats,
                        const std::vector<uint8_t>& bytes) {
  TensorCollection sample;
  sample.metadata = {{"format", "test"}, {"config", R"({"a": "\u00e9\n"})"}};
  sample.Add("weights", ViewOf(std::span(floats), {3, 2}));
  sample.Add("nothing", ViewOf(std::span(floats).first(0), {0, 3}));
  sample.Add("scalar", ViewOf(std::span(floats).first(1), {}));
  sample.Add("vocab.\xc3\xa9", ViewOf(std::span(bytes), {3}));
  return sample;
}

const std::vector<float> kFloats = {1, -2, 0.5, 1e30f, -0.0f, 7};
const std::vector<uint8_t> kBytes = {0, 255, 10};

// Every fixture, with the words its refusal must contain. Field cases
// st-header-huge, st-lfs, st-shape-bytes, st-trailing, st-nul-name, st-oob.
TEST(Safetensors, FixturesAreAcceptedOrRefusedByName) {
  const std::map<std::string, std::string> messages = {
      {"st/hdr_max", "header of 18446744073709551615 bytes"},
      {"st/empty", "0 bytes are too few"},
      {"st/seven_bytes", "7 bytes are too few"},
      {"st/overlap", "tensor 'v': data_offsets [4, 12] overlap"},
      {"st/alias", "tensor 'v': data_offsets [0, 8] overlap"},
      {"st/trailing", "4 bytes after the last tensor"},
      {"st/truncated", "only 5 follow the header"},
      {"st/overflow", "F32 [4294967296, 4294967296] has more than 2^63"},
      {"st/negative", "tensor 'w', 'shape': found the number -2"},
      {"st/dup_key", "'w': the name occurs twice"},
      {"st/nul_name", "'w\\x00hidden': a NUL byte"},
      {"st/deep", "does not begin with '{'"},
      {"st/unknown_dtype", "unknown type 'Q9'"},
      {"st/bad_utf8_name", "not JSON in UTF-8"},
  };
  const auto fixtures = LoadFixtures("st/");
  EXPECT_EQ(fixtures.size(), messages.size() + 4);  // four are accepted
  for (const auto& [name, fixture] : fixtures) {
    SCOPED_TRACE(name);
    if (fixture.accepted) {
      EXPECT_EQ(Refusal(fixture.bytes), "");
    } else {
      ASSERT_TRUE(messages.contains(name));
      ExpectRefused(fixture.bytes, messages.at(name));
    }
  }
}

// Field case st-accept.
TEST(Safetensors, UnusualButLawfulFilesHaveTheirValues) {
  const auto fixtures = LoadFixtures("st/");
  const TensorFile padded =
      TensorFile::FromBytes(fixtures.at("st/ok_padded").bytes, "padded");
  const auto w = padded.At("w", DType::kF32, {2}).Elements<float>();
  EXPECT_EQ(std::vector<float>(w.begin(), w.end()), (std::vector<float>{1, 2}));
  EXPECT_EQ(padded.collection().metadata.at("format"), "pt");

  const TensorFile empty =
      TensorFile::FromBytes(fixtures.at("st/zero_size").bytes, "empty");
  EXPECT_EQ(empty.At("z", DType::kF32, {0, 3}).NumElements(), 0u);

  const TensorFile none =
      TensorFile::FromBytes(fixtures.at("st/no_tensors").bytes, "none");
  EXPECT_TRUE(none.collection().tensors.empty());

  const TensorFile nan =
      TensorFile::FromBytes(fixtures.at("st/nan_inside").bytes, "nan");
  EXPECT_TRUE(std::isnan(nan.At("w").Elements<float>()[0]));

  // A scalar, as the case describes it.
  std::string bytes =
      FileWith(R"({"s":)" + Entry("F32", "[]", "[0,4]") + "}", 0);
  bytes += std::string("\0\0\xf0\x40", 4);
  const TensorFile scalar = TensorFile::FromBytes(bytes, "scalar");
  EXPECT_EQ(scalar.At("s", DType::kF32, {}).Elements<float>()[0], 7.5f);
}

// The fixtures that field cases st-header-huge, st-lfs, st-shape-bytes and
// st-oob name and the file of fixtures does not hold, and more of their kind.
TEST(Safetensors, HostileHeadersAreRefused) {
  ExpectRefused(std::string("\xe8\3\0\0\0\0\0\0{}", 10),
                "header of 1000 bytes, but only 2 follow");
  ExpectRefused(std::string("\1\xe1\xf5\5\0\0\0\0{}", 10),
                "header of 100000001 bytes, the limit is 100000000");
  ExpectRefused("version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
                "Git LFS pointer");
  const auto one = [](const std::string& entry) {
    return R"({"w":)" + entry + "}";
  };
  ExpectRefused(FileWith(one(Entry("F32", "[3]", "[0,8]")), 8),
                "tensor 'w': F32 [3] needs 12 bytes, but data_offsets [0, 8]");
  ExpectRefused(FileWith(one(Entry("F32", "[2]", "[8,0]")), 8),
                "tensor 'w': data_offsets [8, 0] run backwards");
  ExpectRefused(FileWith(one(Entry("F32", "[1]", "[4,8]")), 8), "leave a hole");
  ExpectRefused(
      FileWith(one(Entry("F32", "[9223372036854775807,0]", "[0,0]")), 0),
      "has more than 2^63 bytes");
  ExpectRefused(FileWith(one(Entry("F32", "[1.0]", "[0,4]")), 4),
                "found the number 1.0");
  ExpectRefused(
      FileWith(one(Entry("F32", "[18446744073709551615]", "[0,4]")), 4),
      "found the number 18446744073709551615");
  ExpectRefused(FileWith(one(Entry("F32", "[1]", "[0]")), 4), "wanted two");
  ExpectRefused(FileWith(one(Entry("F32", "[1]", "[0,4,8]")), 4),
                "more than two");
  ExpectRefused(FileWith(one(Entry("F32", "[[1]]", "[0,4]")), 4),
                "found a list");
  ExpectRefused(FileWith(one(R"({"dtype":"F32","shape":[1]})"), 4),
                "is missing");
  ExpectRefused(FileWith(one(R"({"dtype":"F32","dtype":"F32"})"), 4),
                "the field occurs twice");
  ExpectRefused(FileWith(one(R"({"dtype":"F32","extra":1})"), 4),
                "unknown field");
  ExpectRefused(FileWith(R"({"w":3})", 0), "header, 'w': found the number 3");
  ExpectRefused(FileWith("{}x", 0), "not JSON");
  ExpectRefused(FileWith(std::string("{}\0x", 4), 0), "NUL byte");
  ExpectRefused(FileWith("{\"a\":" + std::string(100000, '['), 0),
                "found a list");
}

TEST(Safetensors, MetadataMapsStringsToStrings) {
  ExpectRefused(FileWith(R"({"__metadata__":{"a":1}})", 0),
                "__metadata__, 'a': found the number 1, wanted a string");
  ExpectRefused(FileWith(R"({"__metadata__":{"a":{}}})", 0), "an object");
  ExpectRefused(FileWith(R"({"__metadata__":[]})", 0), "found a list");
  ExpectRefused(FileWith(R"({"__metadata__":{"a":"b","a":"b"}})", 0),
                "the key occurs twice");
  ExpectRefused(FileWith(R"({"__metadata__":{},"__metadata__":{}})", 0),
                "the name occurs twice");
  EXPECT_EQ(Refusal(FileWith(R"({"__metadata__":{}})", 0)), "");
}

// Law 7 of the design.
TEST(Safetensors, SaveLoadSaveGivesTheSameBytes) {
  const std::string first = SerializeSafetensors(Sample(kFloats, kBytes));
  const TensorFile loaded = TensorFile::FromBytes(first, "sample");
  EXPECT_EQ(SerializeSafetensors(loaded.collection()), first);
  std::ostringstream stream;
  WriteSafetensors(loaded.collection(), stream);
  EXPECT_EQ(stream.str(), first);
  EXPECT_EQ(SafetensorsBytes(loaded.collection()), first.size());
  EXPECT_EQ(loaded.collection().metadata, Sample(kFloats, kBytes).metadata);
  EXPECT_EQ(loaded.collection().tensors[3].name, "vocab.\xc3\xa9");
}

TEST(Safetensors, DataBeginAtAMultipleOf64) {
  for (int i = 0; i < 80; ++i) {
    TensorCollection collection;
    collection.Add(std::string(static_cast<size_t>(i), 'n'),
                   ViewOf(std::span(kFloats), {6}));
    EXPECT_EQ(SafetensorsPreamble(collection).size() % 64, 0u);
  }
}

TEST(Safetensors, SortingForAlignmentAlignsEveryTensor) {
  const std::vector<double> doubles = {1, 2};
  TensorCollection collection;
  collection.Add("u8", ViewOf(std::span(kBytes), {3}));
  collection.Add("f32", ViewOf(std::span(kFloats), {6}));
  collection.Add("f64", ViewOf(std::span(doubles), {2}));
  SortForAlignment(collection);
  EXPECT_EQ(collection.tensors[0].name, "f64");
  EXPECT_EQ(collection.tensors[2].name, "u8");
}

// A header of any length puts floats at any address; they are then copied.
TEST(Safetensors, TensorsOfAFileAreAligned) {
  for (size_t pad = 0; pad < 8; ++pad) {
    const std::string header = R"({"b":)" + Entry("U8", "[1]", "[0,1]") +
                               R"(,"w":)" + Entry("F32", "[2]", "[1,9]") + "}";
    const std::string bytes = FileWith(header + std::string(pad, ' '), 0) +
                              "x" + std::string("\0\0\x80\x3f\0\0\0\x40", 8);
    const TensorFile file = TensorFile::FromBytes(bytes, "f");
    EXPECT_EQ(file.At("w").Elements<float>()[0], 1.0f);
    EXPECT_EQ(file.At("w").Elements<float>()[1], 2.0f);
  }
}

TEST(Safetensors, WriterRefusesWhatReadersWouldRefuse) {
  TensorCollection twice;
  twice.Add("a", ViewOf(std::span(kFloats), {6}));
  twice.Add("a", ViewOf(std::span(kFloats), {6}));
  EXPECT_THROW(SerializeSafetensors(twice), std::logic_error);
  TensorCollection reserved;
  reserved.Add("__metadata__", ViewOf(std::span(kFloats), {6}));
  EXPECT_THROW(SerializeSafetensors(reserved), std::logic_error);
  TensorCollection wrong;
  wrong.Add("a", ViewOf(std::span(kFloats), {7}));
  EXPECT_THROW(SerializeSafetensors(wrong), std::logic_error);
}

TEST(Safetensors, MissingTensorsAndWrongShapesAreNamed) {
  const TensorFile file = TensorFile::FromBytes(
      SerializeSafetensors(Sample(kFloats, kBytes)), "m.safetensors");
  try {
    file.At("bias");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "m.safetensors: no tensor 'bias'; there are 'weights', "
              "'nothing', 'scalar', 'vocab.\\xc3\\xa9'");
  }
  try {
    file.At("weights", DType::kF32, {-1, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "m.safetensors: tensor 'weights' is F32 [3, 2], wanted F32 "
              "[-1, 3]");
  }
}

}  // namespace
}  // namespace pipeformer
