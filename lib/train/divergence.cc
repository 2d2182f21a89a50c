#include "lib/train/divergence.h"

#include "lib/base/finite.h"

namespace pipeformer {

std::string FirstNotFinite(const ParameterTable& parameters,
                           std::span<const float> buffer) {
  std::string name;
  parameters.ForEachParameter([&](const Parameter& p) {
    if (name.empty() &&
        !AllFinite(buffer.subspan(static_cast<size_t>(p.offset),
                                  static_cast<size_t>(p.size())))) {
      name = p.name;
    }
  });
  return name;
}

}  // namespace pipeformer
