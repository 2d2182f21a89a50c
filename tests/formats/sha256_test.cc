#include "formats/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace pipeformer {
namespace {

// Vectors of FIPS 180-4's example pages and NIST's CAVP short messages.
TEST(Sha256, KnownMessages) {
  EXPECT_EQ(Sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the block size, hashed in one piece and byte by byte.
TEST(Sha256, PiecesDoNotMatter) {
  for (size_t length = 0; length < 200; ++length) {
    std::string message;
    for (size_t i = 0; i < length; ++i) message += static_cast<char>(i * 7);
    Sha256 hash;
    for (const char& c : message) {
      hash.Update(std::as_bytes(std::span(&c, 1)));
    }
    EXPECT_EQ(hash.HexDigest(), Sha256Hex(message)) << length;
    Sha256 portable(Sha256::Path::kPortable);
    portable.Update(std::as_bytes(std::span(message)));
    EXPECT_EQ(portable.HexDigest(), Sha256Hex(message)) << length;
  }
}

// 55 and 56 bytes: the last length with one padding block, the first with two.
TEST(Sha256, PaddingBoundary) {
  EXPECT_EQ(Sha256Hex(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(Sha256Hex(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
}

}  // namespace
}  // namespace pipeformer
