// SHA-256 of byte strings. A model file keeps the hash of its weights and of
// each vocabulary, so that a damaged or mixed-up file is noticed on loading.
// Source: FIPS 180-4, sections 4.1.2, 5.3.3 and 6.2.
#ifndef PIPEFORMER_FORMATS_SHA256_H_
#define PIPEFORMER_FORMATS_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pipeformer {

// A running hash: `Update` any number of times, then `HexDigest` once.
class Sha256 {
 public:
  // Both give the same hash; kPortable is for tests of the slower path.
  enum class Path { kFastest, kPortable };

  explicit Sha256(Path path = Path::kFastest);

  // Appends `bytes` to the message. Requires: HexDigest was not called.
  void Update(std::span<const std::byte> bytes);

  // Ends the message. Returns 64 lower-case hexadecimal digits.
  std::string HexDigest();

 private:
  static constexpr size_t kBlockBytes = 64;
  using State = std::array<uint32_t, 8>;

  // Takes whole blocks only.
  void Compress(std::span<const std::byte> blocks);

  void (*compress_block_)(const std::byte* block, State& state);
  State state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlockBytes> block_ = {};
  uint64_t message_bytes_ = 0;
};

// The hash of one message, as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::span<const std::byte> bytes);
std::string Sha256Hex(std::string_view text);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_SHA256_H_
