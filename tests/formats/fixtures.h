// The small good and hostile files of data/bin_fixtures.json.
#ifndef PIPEFORMER_TESTS_FORMATS_FIXTURES_H_
#define PIPEFORMER_TESTS_FORMATS_FIXTURES_H_

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pipeformer {

struct Fixture {
  std::string bytes;
  bool accepted;
  nlohmann::json value;
};

inline std::string DecodeBase64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes += static_cast<char>(bits >> num_bits);
  }
  return bytes;
}

// The fixtures whose names begin with `prefix` ("st/", "npy/").
inline std::map<std::string, Fixture> LoadFixtures(std::string_view prefix) {
  std::ifstream file("tests/formats/data/bin_fixtures.json");
  std::map<std::string, Fixture> fixtures;
  const nlohmann::json all = nlohmann::json::parse(file)["fixtures"];
  for (const auto& [name, item] : all.items()) {
    if (!name.starts_with(prefix)) continue;
    fixtures[name] = {DecodeBase64(item["b64"].get<std::string>()),
                      item["expect"] != "refuse",
                      item.value("value", nlohmann::json())};
  }
  return fixtures;
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_FORMATS_FIXTURES_H_
