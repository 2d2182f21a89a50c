// The models of one search: one, or several that choose together.
#ifndef PIPEFORMER_TOOLS_MODEL_GROUP_H_
#define PIPEFORMER_TOOLS_MODEL_GROUP_H_

#include <string>
#include <vector>

#include "formats/model_file.h"
#include "lib/search/ensemble.h"

namespace pipeformer {

class ModelGroup {
 public:
  // Loads the models. Each has its weight, by default its share of one. Throws
  // what LoadModel throws; Error (64) where the weights are not as many or
  // all are zero; 65, naming both files, where vocabularies or types differ.
  ModelGroup(const std::vector<std::string>& paths,
             const std::vector<double>& weights, Precision precision);

  // The one whose vocabularies and positions count, and that aligns.
  const Model& first() const { return models_.front(); }

  // Those that count. Requires: this outlives it.
  Ensemble ensemble() const;

 private:
  std::vector<Model> models_;
  std::vector<float> weights_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_MODEL_GROUP_H_
