#include "tools/model_group.h"

#include <algorithm>
#include <utility>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

void CheckAlike(const Model& a, const std::string& path_of_a, const Model& b,
                const std::string& path_of_b) {
  const auto refuse = [&](const std::string& what) {
    ThrowBadData(path_of_b + ": has another " + what + " than " + path_of_a +
                 "; models that choose together must have the same");
  };
  if (a.vocabularies.source->model() != b.vocabularies.source->model()) {
    refuse("source vocabulary");
  }
  if (a.vocabularies.target->model() != b.vocabularies.target->model()) {
    refuse("target vocabulary");
  }
  const TransformerConfig& x = a.network->config();
  const TransformerConfig& y = b.network->config();
  if (x.type != y.type || x.trained_on != y.trained_on) refuse("type");
}

std::vector<float> WeightsOf(const std::vector<double>& weights, size_t count) {
  if (weights.empty()) {
    return std::vector<float>(count, 1 / static_cast<float>(count));
  }
  if (weights.size() != count) {
    ThrowUsage("--weights has " + std::to_string(weights.size()) +
               " numbers for " + std::to_string(count) +
               " models; give one for each");
  }
  if (std::ranges::all_of(weights, [](double w) { return w == 0; })) {
    ThrowUsage("--weights are all 0; one model must count");
  }
  return {weights.begin(), weights.end()};
}

}  // namespace

ModelGroup::ModelGroup(const std::vector<std::string>& paths,
                       const std::vector<double>& weights, Precision precision)
    : weights_(WeightsOf(weights, paths.size())) {
  for (const std::string& path : paths) {
    models_.push_back(LoadModel(path, precision));
    CheckAlike(models_.front(), paths.front(), models_.back(), path);
  }
}

Ensemble ModelGroup::ensemble() const {
  std::vector<const Transformer*> networks;
  std::vector<float> weights;
  for (size_t m = 0; m < models_.size(); ++m) {
    if (weights_[m] == 0) continue;
    networks.push_back(models_[m].network.get());
    weights.push_back(weights_[m]);
  }
  return {std::move(networks), std::move(weights)};
}

}  // namespace pipeformer
