// A model is one safetensors file: weights, configuration and vocabularies.
// README.md of this folder specifies it.
#ifndef PIPEFORMER_FORMATS_MODEL_FILE_H_
#define PIPEFORMER_FORMATS_MODEL_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "formats/tensor_file.h"
#include "lib/nn/transformer.h"
#include "lib/text/vocabulary.h"

namespace pipeformer {

// The vocabularies of a model; both point to one object when it is joint.
struct VocabularyPair {
  std::shared_ptr<const Vocabulary> source;
  std::shared_ptr<const Vocabulary> target;

  bool joint() const { return source == target; }
};

// Throws Error (65) beginning with `name` unless the vocabulary has <s> and
// </s>, which every model needs.
void CheckSentenceEnds(const Vocabulary& vocabulary, const std::string& name);

// A loaded model, ready for inference. The weights stay in the mapped file.
struct Model {
  std::optional<TensorFile> file;
  VocabularyPair vocabularies;
  std::unique_ptr<Transformer> network;
};

// Maps `path` and packs the weights for inference in `precision`. Throws Error:
// 66 when it is missing; 65 naming the path and what is wrong when it is no
// model, of a newer version, its tensors do not fit its configuration, a weight
// is not finite, or a vocabulary does not have its recorded hash. The hash of
// the weights is for comparing models; it is not checked on loading, so that a
// large model starts at once.
Model LoadModel(const std::string& path,
                Precision precision = Precision::kFloat32);

// Writes `network` with its present values, whole or not at all. Throws what
// OutputFile throws.
void WriteModel(const Transformer& network, const VocabularyPair& vocabularies,
                const std::string& path);

// Copies the weights of the model at `path` into `network`, for training on.
// Dropouts, and what a language model is trained on, may be others. Throws
// Error (65) naming what differs unless shapes, vocabularies and all else
// agree, or the tensor with a weight that is not finite.
void CopyWeights(const std::string& path, const VocabularyPair& vocabularies,
                 Transformer& network);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MODEL_FILE_H_
