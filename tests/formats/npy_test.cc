#include "formats/npy.h"

#include <gtest/gtest.h>

#include <locale>

#include "lib/base/error.h"
#include "tests/formats/fixtures.h"

namespace pipeformer {
namespace {

OwnedTensor Parse(const std::string& bytes) {
  return ParseNpy(std::as_bytes(std::span(bytes)), "f.npy");
}

// The message with which `bytes` are refused; empty if they are accepted.
std::string Refusal(const std::string& bytes) {
  try {
    Parse(bytes);
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

// A version 1.0 file with this header and data.
std::string FileWith(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) +
         '\0' + header + data;
}

std::string Header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr +
         "', 'fortran_order': False, 'shape': " + shape + "}";
}

template <class T>
std::vector<T> Values(const OwnedTensor& tensor) {
  const auto elements = tensor.View().Elements<T>();
  return {elements.begin(), elements.end()};
}

// Field cases npy-one-tuple, npy-long-header, npy-dtype: the good fixtures.
TEST(Npy, FixturesHaveTheirValues) {
  const auto fixtures = LoadFixtures("npy/");
  for (const char* name :
       {"npy/fortran", "npy/c", "npy/v2", "npy/unpadded", "npy/reordered"}) {
    SCOPED_TRACE(name);
    const OwnedTensor tensor = Parse(fixtures.at(name).bytes);
    EXPECT_EQ(tensor.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(Values<float>(tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  const OwnedTensor one_d = Parse(fixtures.at("npy/one_d").bytes);
  EXPECT_EQ(one_d.shape, (std::vector<int64_t>{3}));
  EXPECT_EQ(Values<float>(one_d), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Parse(fixtures.at("npy/empty").bytes).shape,
            (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(Values<int64_t>(Parse(fixtures.at("npy/i8").bytes)),
            (std::vector<int64_t>{1099511627776, -1}));
  const OwnedTensor truth = Parse(fixtures.at("npy/bool").bytes);
  EXPECT_EQ(truth.dtype, DType::kBool);
  EXPECT_EQ(truth.bytes, (std::vector<std::byte>{std::byte{1}, std::byte{0}}));
}

// Field cases npy-dtype (objects) and npy-grouping: the hostile fixtures.
TEST(Npy, HostileFixturesAreRefusedByName) {
  const auto fixtures = LoadFixtures("npy/");
  EXPECT_EQ(fixtures.size(), 12u);
  ExpectRefused(fixtures.at("npy/trunc").bytes,
                "<f4 [2, 3] needs 24 bytes, but 20 follow");
  ExpectRefused(fixtures.at("npy/grouped").bytes,
                "<f4 [1, 234, 56] needs 52416 bytes, but 0 follow");
  ExpectRefused(fixtures.at("npy/object").bytes,
                "type '|O' holds pickled Python objects");
}

// Field case npy-dtype: the types the file of fixtures does not hold.
TEST(Npy, HalvesAndScalars) {
  const OwnedTensor half =
      Parse(FileWith(Header("<f2", "(2,)"), std::string("\0\x3e\0\xb4", 4)));
  EXPECT_EQ(ToFloats(half.View(), "half"), (std::vector<float>{1.5, -0.25}));
  const OwnedTensor scalar =
      Parse(FileWith(Header("<f4", "()"), std::string("\0\0\xf0\x40", 4)));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(Values<float>(scalar), (std::vector<float>{7.5}));
}

TEST(Npy, BigEndianBecomesLittleEndian) {
  const OwnedTensor tensor = Parse(FileWith(
      Header(">i4", "(2,)"), std::string("\0\0\1\2\xff\xff\xff\xfe", 8)));
  EXPECT_EQ(Values<int32_t>(tensor), (std::vector<int32_t>{258, -2}));
}

// Three dimensions: element (i, j, k) of a [2, 3, 4] array holds 100i+10j+k.
TEST(Npy, ColumnMajorBecomesRowMajor) {
  std::string data;
  std::vector<uint8_t> row_major;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i)
        data += static_cast<char>(100 * i + 10 * j + k);
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        row_major.push_back(static_cast<uint8_t>(100 * i + 10 * j + k));
      }
    }
  }
  const std::string header =
      "{'descr':'|u1','fortran_order':True,'shape':(2,3,4)}";
  EXPECT_EQ(Values<uint8_t>(Parse(FileWith(header, data))), row_major);
}

// Field case npy-big-dim.
TEST(Npy, BigDimensionsAreRefused) {
  ExpectRefused(FileWith(Header("<f4", "(4294967296, 4294967296)"), ""),
                "has more than 2^63 bytes");
  ExpectRefused(FileWith(Header("<f4", "(3000000000,)"), "1234"),
                "needs 12000000000 bytes, but 4 follow");
  ExpectRefused(FileWith(Header("<f4", "(99999999999999999999,)"), ""),
                "a dimension passes 2^63 - 1");
}

TEST(Npy, DamagedHeadersAreRefused) {
  ExpectRefused("", "no .npy file");
  ExpectRefused("\x93NUMPX........", "no .npy file");
  ExpectRefused(std::string("\x93NUMPY\4\0\0\0", 10), "version 4");
  ExpectRefused(std::string("\x93NUMPY\1\0\1", 9), "the header is cut off");
  ExpectRefused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13),
                "a header of 4294967295 bytes, but only 1 follow");
  ExpectRefused(FileWith(Header("<f4", "(3)"), std::string(12, '\0')),
                "wants a comma");
  ExpectRefused(FileWith(Header("<f4", "(-3,)"), ""), "wanted a dimension");
  ExpectRefused(FileWith(Header("<f4", "[3]"), ""), "wanted '('");
  ExpectRefused(FileWith(Header("<c8", "(1,)"), ""), "type '<c8' is not read");
  ExpectRefused(FileWith(Header("", "(1,)"), ""), "type '' is not read");
  ExpectRefused(FileWith("{'descr': [('a', '<f4')], 'fortran_order': False, "
                         "'shape': (1,)}",
                         ""),
                "an array of records");
  ExpectRefused(FileWith("{'descr': '<f4', 'shape': (1,)}", ""), "is missing");
  ExpectRefused(FileWith("{'shape': (1,), 'shape': (1,)}", ""), "twice");
  ExpectRefused(FileWith("{'other': 1}", ""), "none of descr");
  ExpectRefused(FileWith(Header("<f4", "(0,)") + "x", ""), "something follows");
  ExpectRefused(FileWith(Header("<f4", "(0,)"), "abc"), "but 3 follow");
}

// Field case npy-one-tuple, from the writer's side; NumPy's own layout.
TEST(Npy, WrittenHeaderIsNumPys) {
  const std::vector<float> floats = {1, 2, 3};
  const std::string file = SerializeNpy(ViewOf(std::span(floats), {3}), "a");
  EXPECT_EQ(file, LoadFixtures("npy/").at("npy/one_d").bytes);
  EXPECT_EQ((file.size() - 12) % 64, 0u);
}

TEST(Npy, WrittenTensorsComeBack) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<std::vector<int64_t>> shapes = {
      {6}, {2, 3}, {1, 1, 6}, {3, 1, 2}};
  for (const auto& shape : shapes) {
    const OwnedTensor back =
        Parse(SerializeNpy(ViewOf(std::span(floats), shape), "a"));
    EXPECT_EQ(back.shape, shape);
    EXPECT_EQ(Values<float>(back), floats);
  }
  const std::vector<uint16_t> brains = {0x3f80};
  EXPECT_THROW(
      SerializeNpy({DType::kBF16, {1}, std::as_bytes(std::span(brains))}, "b"),
      Error);
}

// Groups digits by three, as de_DE and en_US do.
class Grouping : public std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

// Field cases npy-grouping and loc-npy.
TEST(Npy, LocaleDoesNotReachTheHeader) {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new Grouping));
  const std::vector<float> floats(1234 * 56);
  const std::string file =
      SerializeNpy(ViewOf(std::span(floats), {1234, 56}), "a");
  const OwnedTensor back = Parse(file);
  std::locale::global(before);
  EXPECT_NE(file.find("'shape': (1234, 56), }"), std::string::npos);
  EXPECT_EQ(back.shape, (std::vector<int64_t>{1234, 56}));
}

}  // namespace
}  // namespace pipeformer
