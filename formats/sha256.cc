#include "formats/sha256.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>

namespace pipeformer {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64
// primes (section 4.2.2).
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t LoadBigEndian(const std::byte* bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    value = value << 8 | std::to_integer<uint32_t>(bytes[i]);
  }
  return value;
}

uint32_t Rotate(uint32_t x, int bits) { return std::rotr(x, bits); }

// The message schedule W of one block (section 6.2.2, step 1).
std::array<uint32_t, 64> Schedule(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) w[t] = LoadBigEndian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t x = w[t - 15], y = w[t - 2];
    const uint32_t s0 = Rotate(x, 7) ^ Rotate(x, 18) ^ x >> 3;
    const uint32_t s1 = Rotate(y, 17) ^ Rotate(y, 19) ^ y >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  return w;
}

using State = std::array<uint32_t, 8>;

void CompressBlock(const std::byte* block, State& state) {
  const std::array<uint32_t, 64> w = Schedule(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t s1 = Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25);
    const uint32_t choose = (e & f) ^ (~e & g);
    const uint32_t t1 = h + s1 + choose + kRoundConstants[t] + w[t];
    const uint32_t s0 = Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + s0 + majority;
  }
  const State working = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += working[i];
}

#if defined(__x86_64__)

// The same with the processor's own instructions, six times as fast,
// so that checking a large model's weights does not delay its start. They keep
// the state as two registers, (a, b, e, f) and (c, d, g, h) from the highest
// word down.
__attribute__((target("sha,ssse3"))) void CompressBlockX86(
    const std::byte* block, State& state) {
  const __m128i to_big_endian =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto word = [&state](size_t i) { return static_cast<int>(state[i]); };
  const __m128i abef_before = _mm_set_epi32(word(0), word(1), word(4), word(5));
  const __m128i cdgh_before = _mm_set_epi32(word(2), word(3), word(6), word(7));
  __m128i abef = abef_before, cdgh = cdgh_before;
  __m128i w[4];  // the last 16 words of the schedule, four in a register
  for (size_t t = 0; t < 16; ++t) {
    __m128i& now = w[t % 4];
    if (t < 4) {
      const auto* words = reinterpret_cast<const __m128i*>(block) + t;
      now = _mm_shuffle_epi8(_mm_loadu_si128(words), to_big_endian);
    } else {
      const __m128i before = w[(t + 3) % 4];
      const __m128i w7 = _mm_alignr_epi8(before, w[(t + 2) % 4], 4);
      const __m128i sum =
          _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(t + 1) % 4]), w7);
      now = _mm_sha256msg2_epu32(sum, before);
    }
    const auto* k =
        reinterpret_cast<const __m128i*>(kRoundConstants.data()) + t;
    const __m128i wk = _mm_add_epi32(now, _mm_loadu_si128(k));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_unpackhi_epi64(wk, wk));
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
  alignas(16) State out;  // f e b a h g d c
  _mm_store_si128(reinterpret_cast<__m128i*>(out.data()), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(out.data() + 4), cdgh);
  state = {out[3], out[2], out[7], out[6], out[1], out[0], out[5], out[4]};
}

bool HasShaInstructions() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
         (ebx & bit_SHA) != 0;
}

#endif

}  // namespace

Sha256::Sha256(Path path) : compress_block_(CompressBlock) {
#if defined(__x86_64__)
  static const bool has_instructions = HasShaInstructions();
  if (path == Path::kFastest && has_instructions) {
    compress_block_ = CompressBlockX86;
  }
#else
  (void)path;
#endif
}

void Sha256::Compress(std::span<const std::byte> blocks) {
  for (size_t at = 0; at < blocks.size(); at += kBlockBytes) {
    compress_block_(blocks.data() + at, state_);
  }
}

void Sha256::Update(std::span<const std::byte> bytes) {
  const size_t used = message_bytes_ % kBlockBytes;
  message_bytes_ += bytes.size();
  if (used > 0) {
    const size_t taken = std::min(bytes.size(), kBlockBytes - used);
    std::copy_n(bytes.begin(), taken, block_.begin() + used);
    bytes = bytes.subspan(taken);
    if (used + taken < kBlockBytes) return;
    Compress(block_);
  }
  const size_t rest = bytes.size() % kBlockBytes;
  Compress(bytes.first(bytes.size() - rest));
  std::ranges::copy(bytes.last(rest), block_.begin());
}

std::string Sha256::HexDigest() {
  // Padding (section 5.1.1): one bit 1, zeros, the length in bits, big-endian.
  const uint64_t message_bits = message_bytes_ * 8;
  std::array<std::byte, kBlockBytes + 8> padding = {std::byte{0x80}};
  const size_t used = message_bytes_ % kBlockBytes;
  const size_t zeros_end = used < 56 ? 56 - used : 120 - used;
  for (size_t i = 0; i < 8; ++i) {
    padding[zeros_end + i] =
        static_cast<std::byte>(message_bits >> (56 - 8 * i));
  }
  Update({padding.data(), zeros_end + 8});
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      hex += kDigits[word >> shift & 15];
    }
  }
  return hex;
}

std::string Sha256Hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.HexDigest();
}

std::string Sha256Hex(std::string_view text) {
  return Sha256Hex(std::as_bytes(std::span(text)));
}

}  // namespace pipeformer
