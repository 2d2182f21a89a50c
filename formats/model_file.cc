#include "formats/model_file.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "formats/model_config.h"
#include "formats/output_file.h"
#include "formats/safetensors.h"
#include "formats/sha256.h"
#include "lib/base/error.h"
#include "lib/base/finite.h"

namespace pipeformer {
namespace {

constexpr char kFormat[] = "pipeformer-model";
constexpr char kVersion[] = "1";

std::vector<int64_t> ShapeOf(const Parameter& p) {
  if (p.rank == 1) return {p.cols};
  return {p.rows, p.cols};
}

TensorFile OpenModel(const std::string& path) {
  TensorFile file = TensorFile::Open(path);
  file.RequireFormat(kFormat, kVersion, "make one with train");
  return file;
}

std::string_view BytesOf(const TensorView& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()),
          tensor.bytes.size()};
}

std::shared_ptr<const Vocabulary> LoadVocabulary(const TensorFile& file,
                                                 const std::string& name) {
  const TensorView& tensor = file.At(name, DType::kU8, {-1});
  if (Sha256Hex(tensor.bytes) != file.Metadata("sha256." + name)) {
    ThrowBadData(file.source_name() + ": " + name +
                 " does not have its recorded SHA-256: the file is damaged");
  }
  return std::make_shared<const Vocabulary>(std::string(BytesOf(tensor)),
                                            file.source_name() + ": " + name);
}

VocabularyPair LoadVocabularies(const TensorFile& file) {
  if (file.collection().Find("vocab.joint") != nullptr) {
    const auto joint = LoadVocabulary(file, "vocab.joint");
    return {joint, joint};
  }
  return {LoadVocabulary(file, "vocab.source"),
          LoadVocabulary(file, "vocab.target")};
}

void CheckVocabularySize(const TensorFile& file, const char* side,
                         const Vocabulary& vocabulary, int64_t wanted) {
  if (vocabulary.size() != wanted) {
    ThrowBadData(file.source_name() + ": the " + side + " vocabulary has " +
                 std::to_string(vocabulary.size()) +
                 " pieces, the configuration says " + std::to_string(wanted));
  }
  CheckSentenceEnds(vocabulary, file.source_name());
}

// The values of `p` in `file`: of its shape, and all finite. One that is not
// would leave sentences without any translation.
std::span<const float> WeightsOf(const TensorFile& file, const Parameter& p) {
  const auto values =
      file.At(p.name, DType::kF32, ShapeOf(p)).Elements<float>();
  if (!AllFinite(values)) {
    ThrowBadData(file.source_name() + ": tensor '" + p.name +
                 "' has a weight that is not finite: the training diverged or "
                 "the file is damaged");
  }
  return values;
}

}  // namespace

void CheckSentenceEnds(const Vocabulary& vocabulary, const std::string& name) {
  if (vocabulary.bos_id() >= 0 && vocabulary.eos_id() >= 0) return;
  ThrowBadData(name +
               ": the vocabulary has no <s> or no </s>; make it with "
               "build-vocab");
}

Model LoadModel(const std::string& path, Precision precision) {
  Model model;
  model.file = OpenModel(path);
  const TransformerConfig config =
      ConfigFromJson(model.file->Metadata("config"), path);
  model.vocabularies = LoadVocabularies(*model.file);
  CheckVocabularySize(*model.file, "source", *model.vocabularies.source,
                      config.source_vocab);
  CheckVocabularySize(*model.file, "target", *model.vocabularies.target,
                      config.target_vocab);
  model.network = std::make_unique<Transformer>(config);
  size_t num_weights = 0;
  model.network->parameters().ForEachParameter([&](Parameter& p) {
    // The network never writes to its weights outside training.
    auto* data = const_cast<float*>(WeightsOf(*model.file, p).data());
    p.value = DenseMatrix(data, p.rows, p.cols);
    ++num_weights;
  });
  const size_t vocabularies = model.vocabularies.joint() ? 1 : 2;
  if (model.file->collection().tensors.size() != num_weights + vocabularies) {
    ThrowBadData(path + ": has " +
                 std::to_string(model.file->collection().tensors.size()) +
                 " tensors, its configuration asks for " +
                 std::to_string(num_weights + vocabularies));
  }
  model.network->Pack(precision);
  model.file->ForgetPages();  // what is packed is not read there again
  return model;
}

void WriteModel(const Transformer& network, const VocabularyPair& vocabularies,
                const std::string& path) {
  TensorCollection collection;
  collection.metadata["format"] = kFormat;
  collection.metadata.emplace("version", kVersion);
  collection.metadata["config"] = ConfigToJson(network.config());
  Sha256 weights;
  network.parameters().ForEachParameter([&](const Parameter& p) {
    const std::span<const float> values(p.value.data,
                                        static_cast<size_t>(p.size()));
    weights.Update(std::as_bytes(values));
    collection.Add(p.name, ViewOf(values, ShapeOf(p)));
  });
  collection.metadata["sha256.weights"] = weights.HexDigest();
  const auto add = [&](const std::string& name, const Vocabulary& vocabulary) {
    const std::string& bytes = vocabulary.model();
    collection.metadata["sha256." + name] = Sha256Hex(bytes);
    collection.Add(name, {DType::kU8,
                          {static_cast<int64_t>(bytes.size())},
                          std::as_bytes(std::span(bytes))});
  };
  if (vocabularies.joint()) {
    add("vocab.joint", *vocabularies.source);
  } else {
    add("vocab.source", *vocabularies.source);
    add("vocab.target", *vocabularies.target);
  }
  WriteTensorFile(collection, path);
}

void CopyWeights(const std::string& path, const VocabularyPair& vocabularies,
                 Transformer& network) {
  const TensorFile file = OpenModel(path);
  network.parameters().ForEachParameter([&](Parameter& p) {
    const auto values = WeightsOf(file, p);
    std::copy(values.begin(), values.end(), p.value.data);
  });
  const VocabularyPair own = LoadVocabularies(file);
  if (own.source->model() != vocabularies.source->model() ||
      own.target->model() != vocabularies.target->model()) {
    ThrowBadData(path +
                 ": was trained with another vocabulary, so its embeddings "
                 "are of other pieces; use the model's own vocabulary");
  }
  const TransformerConfig& now = network.config();
  TransformerConfig before = ConfigFromJson(file.Metadata("config"), path);
  before.trained_on = now.trained_on;
  before.dropout = now.dropout;
  before.attention_dropout = now.attention_dropout;
  before.ffn_dropout = now.ffn_dropout;
  before.max_positions = now.max_positions;
  const std::string difference = ConfigDifference(before, now);
  if (difference.empty()) return;
  ThrowBadData(path + ": has " + difference +
               "; its weights mean nothing in another network");
}

}  // namespace pipeformer
