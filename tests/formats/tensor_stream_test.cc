#include "formats/tensor_stream.h"

#include <gtest/gtest.h>

#include <sstream>

#include "formats/little_endian.h"
#include "formats/safetensors.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

const std::vector<float> kFloats = {1, 2, 3, 4, 5, 6};

TensorCollection Sample() {
  TensorCollection sample;
  sample.Add("query", ViewOf(std::span(kFloats), {2, 3}));
  return sample;
}

std::string Frame(const std::string& payload) {
  std::string frame = "PFTENSOR";
  AppendLittleEndian<uint32_t>(1, frame);
  AppendLittleEndian<uint32_t>(0, frame);
  AppendLittleEndian<uint64_t>(payload.size(), frame);
  return frame + payload;
}

std::string ThreeFrames() {
  std::ostringstream out;
  WriteTensorFrame("0", Sample(), out);
  WriteTensorFrame("doc-7", {}, out);
  WriteTensorFrame("2", Sample(), out);
  return out.str();
}

// Reads all frames; the message of the first error, or "".
std::string FirstError(const std::string& bytes, uint64_t limit = 1 << 20) {
  std::istringstream in(bytes);
  TensorStreamReader reader(in, "stdin", limit);
  try {
    while (reader.Next()) {
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "";
}

TEST(TensorStream, FramesComeBackInOrderWithTheirIds) {
  std::istringstream in(ThreeFrames());
  TensorStreamReader reader(in, "stdin");
  std::optional<TensorFrame> frame = reader.Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->id, "0");
  EXPECT_EQ(
      frame->tensors.At("query", DType::kF32, {2, 3}).Elements<float>()[5],
      6.0f);
  frame = reader.Next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->id, "doc-7");
  ASSERT_TRUE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.num_frames(), 3u);
}

TEST(TensorStream, PayloadIsAPlainTensorFile) {
  std::ostringstream out;
  WriteTensorFrame("7", Sample(), out);
  TensorCollection with_id = Sample();
  with_id.metadata = {{"id", "7"}};
  EXPECT_EQ(out.str(), Frame(SerializeSafetensors(with_id)));
}

TEST(TensorStream, FrameWithoutIdTakesItsNumber) {
  std::istringstream in(ThreeFrames() + Frame(SerializeSafetensors(Sample())));
  TensorStreamReader reader(in, "stdin");
  for (int i = 0; i < 3; ++i) reader.Next();
  EXPECT_EQ(reader.Next()->id, "3");
}

TEST(TensorStream, EmptyStreamHasNoFrames) { EXPECT_EQ(FirstError(""), ""); }

// Cut anywhere but between frames, a stream is an error that says where.
TEST(TensorStream, EveryTruncationIsNoticed) {
  const std::string bytes = ThreeFrames();
  size_t num_clean = 0;
  for (size_t length = 0; length <= bytes.size(); ++length) {
    num_clean += FirstError(bytes.substr(0, length)).empty();
  }
  EXPECT_EQ(num_clean, 4u);  // before, between and after three frames
  EXPECT_EQ(FirstError(bytes.substr(0, bytes.size() - 1)),
            "stdin: frame 2: the stream breaks off after 151 of the payload's "
            "152 bytes");
  EXPECT_EQ(FirstError(bytes.substr(0, 10)),
            "stdin: frame 0: the stream breaks off after 10 of the frame "
            "header's 24 bytes");
}

TEST(TensorStream, WrongHeadersAreNamed) {
  EXPECT_EQ(FirstError("hello, world, this is text"),
            "stdin: frame 0: begins with 'hello, w', wanted 'PFTENSOR'; this "
            "is no tensor stream");
  std::string version = ThreeFrames();
  version[8] = 2;
  EXPECT_EQ(FirstError(version),
            "stdin: frame 0: version 2, this program reads version 1");
  std::string reserved = ThreeFrames();
  reserved[12] = 5;
  EXPECT_EQ(FirstError(reserved),
            "stdin: frame 0: the reserved field is 5, wanted 0");
}

TEST(TensorStream, AbsurdLengthIsRefused) {
  std::string frame = ThreeFrames();
  for (size_t i = 16; i < 24; ++i) frame[i] = '\xff';
  EXPECT_EQ(FirstError(frame),
            "stdin: frame 0: a length of 18446744073709551615 bytes, the "
            "limit is 1048576");
  // Lawful by the limit, yet nothing follows: little is allocated.
  frame = ThreeFrames().substr(0, 24);
  frame[16] = frame[17] = frame[18] = frame[19] = '\xff';
  EXPECT_EQ(FirstError(frame, kMaxFrameBytes),
            "stdin: frame 0: the stream breaks off after 0 of the payload's "
            "4294967295 bytes");
}

TEST(TensorStream, BadPayloadSpoilsOnlyItsOwnRecord) {
  std::istringstream in(Frame("not tensors") + ThreeFrames());
  TensorStreamReader reader(in, "stdin");
  EXPECT_THROW(reader.Next(), Error);
  EXPECT_TRUE(reader.can_go_on());
  EXPECT_EQ(reader.Next()->id, "0");
}

TEST(TensorStream, BrokenFramingEndsTheStream) {
  std::istringstream in("PFTENSOR and more text that is no frame");
  TensorStreamReader reader(in, "stdin");
  EXPECT_THROW(reader.Next(), Error);
  EXPECT_FALSE(reader.can_go_on());
}

}  // namespace
}  // namespace pipeformer
