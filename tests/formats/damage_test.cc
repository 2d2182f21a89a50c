// Files damaged at random, thousands of them: each is read or refused with an
// Error, and nothing else happens. The sanitizers watch in --config=asan.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "formats/npy.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "formats/tensor_stream.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "tests/formats/fixtures.h"

namespace pipeformer {
namespace {

constexpr int kNumTrials = 4000;

using Reader = std::function<void(const std::string&)>;

// Flips, replaces, removes or doubles up to four places, or cuts the end off.
std::string Damage(std::string bytes, Random& random) {
  const uint64_t num_changes = 1 + random.Below(4);
  for (uint64_t i = 0; i < num_changes && !bytes.empty(); ++i) {
    const size_t at = random.Below(bytes.size());
    switch (random.Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.Below(8));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.Below(256));
        break;
      case 2:
        bytes.erase(at, 1 + random.Below(8));
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, 1 + random.Below(8)));
        break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

// Returns the share of damaged files that were refused.
double Refused(const std::string& good, const Reader& read, uint64_t seed) {
  read(good);  // the undamaged file is accepted
  Random random(seed);
  int num_refused = 0;
  for (int trial = 0; trial < kNumTrials; ++trial) {
    const std::string bytes = Damage(good, random);
    try {
      read(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadData) << "trial " << trial;
      EXPECT_EQ(std::string(error.what()).find("f: "), 0u) << error.what();
      ++num_refused;
    }
  }
  return static_cast<double>(num_refused) / kNumTrials;
}

TensorCollection Sample() {
  static const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  static const std::vector<uint8_t> bytes = {1, 2, 3};
  TensorCollection sample;
  sample.metadata = {{"format", "test"}, {"id", "3"}};
  sample.Add("weights", ViewOf(std::span(floats), {2, 3}));
  sample.Add("vocab", ViewOf(std::span(bytes), {3}));
  return sample;
}

// Touches every byte that a reader claims to have.
void Touch(const TensorView& tensor) {
  static volatile unsigned sum = 0;
  for (const std::byte byte : tensor.bytes) {
    sum = sum + std::to_integer<unsigned>(byte);
  }
}

TEST(Damage, Safetensors) {
  const auto read = [](const std::string& bytes) {
    const TensorFile file = TensorFile::FromBytes(bytes, "f");
    for (const auto& named : file.collection().tensors) Touch(named.tensor);
  };
  EXPECT_GT(Refused(SerializeSafetensors(Sample()), read, 1), 0.5);
}

TEST(Damage, TensorStream) {
  std::ostringstream out;
  WriteTensorFrame("a", Sample(), out);
  WriteTensorFrame("b", Sample(), out);
  const auto read = [](const std::string& bytes) {
    std::istringstream in(bytes);
    TensorStreamReader reader(in, "f");
    while (const auto frame = reader.Next()) {
      for (const auto& named : frame->tensors.collection().tensors) {
        Touch(named.tensor);
      }
    }
  };
  EXPECT_GT(Refused(out.str(), read, 2), 0.5);
}

TEST(Damage, Npy) {
  const auto read = [](const std::string& bytes) {
    Touch(ParseNpy(std::as_bytes(std::span(bytes)), "f").View());
  };
  const auto fixtures = LoadFixtures("npy/");
  EXPECT_GT(Refused(fixtures.at("npy/reordered").bytes, read, 3), 0.5);
  EXPECT_GT(Refused(fixtures.at("npy/fortran").bytes, read, 4), 0.2);
}

TEST(Damage, Npz) {
  const auto read = [](const std::string& bytes) {
    for (const auto& [name, tensor] :
         ParseNpz(std::as_bytes(std::span(bytes)), "f")) {
      Touch(tensor.View());
    }
  };
  uint64_t seed = 5;
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz"}) {
    std::ifstream file(std::string("tests/formats/data/") + name,
                       std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    EXPECT_GT(Refused(bytes.str(), read, seed++), 0.5) << name;
  }
}

}  // namespace
}  // namespace pipeformer
