#include "formats/model_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>

#include "formats/model_config.h"
#include "formats/sha256.h"
#include "lib/base/error.h"
#include "tests/formats/test_files.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

class ModelFile : public testing::TestWithParam<bool> {
 protected:
  ModelFile()
      : vocabularies_(GetParam() ? JointVocabulary() : TwoVocabularies()),
        network_(NewNetwork(ConfigFor(vocabularies_), 1)) {}

  VocabularyPair vocabularies_;
  std::unique_ptr<Transformer> network_;
};

TEST_P(ModelFile, SaveLoadSaveGivesTheSameBytes) {
  const std::string first = Path("first.safetensors");
  const std::string second = Path("second.safetensors");
  WriteModel(*network_, vocabularies_, first);
  const Model model = LoadModel(first);
  WriteModel(*model.network, model.vocabularies, second);
  EXPECT_EQ(Bytes(first), Bytes(second));
}

TEST_P(ModelFile, HoldsEverythingThatAModelIs) {
  const std::string path = Path("all.safetensors");
  WriteModel(*network_, vocabularies_, path);
  const Model model = LoadModel(path);
  EXPECT_EQ(ConfigToJson(model.network->config()),
            ConfigToJson(network_->config()));
  EXPECT_EQ(model.vocabularies.joint(), GetParam());
  EXPECT_EQ(model.vocabularies.source->model(), vocabularies_.source->model());
  EXPECT_EQ(model.vocabularies.target->model(), vocabularies_.target->model());
  std::map<std::string, std::vector<float>> values;
  network_->parameters().ForEachParameter([&](const Parameter& p) {
    values[p.name].assign(p.value.data, p.value.data + p.size());
  });
  int64_t seen = 0;
  model.network->parameters().ForEachParameter([&](const Parameter& p) {
    ASSERT_EQ(static_cast<size_t>(p.size()), values[p.name].size());
    EXPECT_TRUE(std::equal(p.value.data, p.value.data + p.size(),
                           values[p.name].data()))
        << p.name;
    seen += p.size();
  });
  EXPECT_EQ(seen, network_->parameters().size());
}

TEST_P(ModelFile, RecordsTheHashOfTheWeightsInTheOrderOfTheFile) {
  const std::string path = Path("hash.safetensors");
  WriteModel(*network_, vocabularies_, path);
  const TensorFile file = TensorFile::Open(path);
  Sha256 hash;
  for (const NamedTensor& t : file.collection().tensors) {
    if (t.tensor.dtype == DType::kF32) hash.Update(t.tensor.bytes);
  }
  EXPECT_EQ(file.collection().metadata.at("sha256.weights"), hash.HexDigest());
}

TEST_P(ModelFile, CopiesWeightsForTrainingOn) {
  const std::string path = Path("copy.safetensors");
  WriteModel(*network_, vocabularies_, path);
  auto other = NewNetwork(network_->config(), 2);
  const auto size = static_cast<size_t>(network_->parameters().size());
  const std::span mine(network_->parameters().values(), size);
  const std::span theirs(other->parameters().values(), size);
  ASSERT_FALSE(std::equal(mine.begin(), mine.end(), theirs.begin()));
  CopyWeights(path, vocabularies_, *other);
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), theirs.begin()));
}

INSTANTIATE_TEST_SUITE_P(JointOrTwo, ModelFile, testing::Bool());

// What is done to a good model, and the words of the refusal.
struct Damage {
  const char* name;
  std::function<void(TensorCollection&)> apply;
  std::vector<std::string> words;
};

TensorView& At(TensorCollection& c, const std::string& name) {
  for (NamedTensor& t : c.tensors) {
    if (t.name == name) return t.tensor;
  }
  throw std::out_of_range(name);
}

void SetConfig(TensorCollection& c, const std::string& from,
               const std::string& to) {
  std::string& config = c.metadata.at("config");
  config.replace(config.find(from), from.size(), to);
}

// Bytes that outlive the collection which views them.
std::string spare;

void ChangeByte(TensorCollection& c, const std::string& name, size_t at,
                char byte) {
  TensorView& tensor = At(c, name);
  spare.assign(reinterpret_cast<const char*>(tensor.bytes.data()),
               tensor.bytes.size());
  spare[at] = byte;
  tensor.bytes = std::as_bytes(std::span(spare));
}

void SetWeight(TensorCollection& c, const std::string& name, size_t index,
               float weight) {
  TensorView& tensor = At(c, name);
  spare.assign(reinterpret_cast<const char*>(tensor.bytes.data()),
               tensor.bytes.size());
  std::copy_n(reinterpret_cast<const char*>(&weight), sizeof(weight),
              spare.data() + index * sizeof(weight));
  tensor.bytes = std::as_bytes(std::span(spare));
}

class ModelDamage : public testing::TestWithParam<Damage> {};

TEST_P(ModelDamage, IsRefusedWithItsName) {
  const VocabularyPair vocabularies = JointVocabulary();
  const auto network = NewNetwork(ConfigFor(vocabularies), 1);
  const std::string good = Path("good.safetensors");
  const std::string bad = Path("damaged.safetensors");
  WriteModel(*network, vocabularies, good);
  const TensorFile file = TensorFile::Open(good);
  TensorCollection collection = file.collection();
  GetParam().apply(collection);
  WriteTensorFile(collection, bad);
  try {
    LoadModel(bad);
    FAIL() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    const std::string message = error.what();
    EXPECT_EQ(message.find(bad), 0u) << message;
    for (const std::string& word : GetParam().words) {
      EXPECT_NE(message.find(word), std::string::npos)
          << word << " in: " << message;
    }
  }
}

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

INSTANTIATE_TEST_SUITE_P(
    Damages, ModelDamage,
    testing::Values(
        Damage{"NoFormat",
               [](TensorCollection& c) { c.metadata.erase("format"); },
               {"no pipeformer-model", "`format`"}},
        Damage{"AnotherFormat",
               [](TensorCollection& c) {
                 c.metadata["format"] = "pipeformer-corpus";
               },
               {"no pipeformer-model", "'pipeformer-corpus'"}},
        Damage{"NoMetadata",
               [](TensorCollection& c) { c.metadata.clear(); },
               {"no pipeformer-model"}},
        Damage{"NoTensors",
               [](TensorCollection& c) { c.tensors.clear(); },
               {"vocab"}},
        Damage{"NewerVersion",
               [](TensorCollection& c) { c.metadata["version"] = "2"; },
               {"version '2'", "reads version 1"}},
        Damage{"NoVersion",
               [](TensorCollection& c) { c.metadata.erase("version"); },
               {"version missing"}},
        Damage{"NoConfig",
               [](TensorCollection& c) { c.metadata.erase("config"); },
               {"`config`"}},
        Damage{"ConfigIsNoJson",
               [](TensorCollection& c) { c.metadata["config"] = "{"; },
               {"configuration"}},
        Damage{"MissingTensor",
               [](TensorCollection& c) {
                 std::erase_if(c.tensors, [](const NamedTensor& t) {
                   return t.name == "output.bias";
                 });
               },
               {"output.bias"}},
        Damage{"WrongShape",
               [](TensorCollection& c) {
                 At(c, "embedding.weight").shape = {12, 8};
               },
               {"embedding.weight", "[12, 8]", "[8, 12]"}},
        Damage{"WrongType",
               [](TensorCollection& c) {
                 At(c, "output.bias").dtype = DType::kI32;
               },
               {"output.bias", "I32", "F32"}},
        Damage{"DamagedVocabulary",
               [](TensorCollection& c) {
                 ChangeByte(c, "vocab.joint", 20, '\x7f');
               },
               {"vocab.joint", "SHA-256"}},
        Damage{
            "NoHashOfTheVocabulary",
            [](TensorCollection& c) { c.metadata.erase("sha256.vocab.joint"); },
            {"sha256.vocab.joint"}},
        Damage{"OneVocabularyMissing",
               [](TensorCollection& c) {
                 for (NamedTensor& t : c.tensors) {
                   if (t.name == "vocab.joint") t.name = "vocab.source";
                 }
                 c.metadata["sha256.vocab.source"] =
                     c.metadata["sha256.vocab.joint"];
               },
               {"vocab.target"}},
        Damage{"VocabularyOfAnotherSize",
               [](TensorCollection& c) {
                 SetConfig(c, "\"source_vocab\":8", "\"source_vocab\":9");
                 SetConfig(c, "\"target_vocab\":8", "\"target_vocab\":9");
               },
               {"vocabulary", "8", "9"}},
        Damage{"HugeLayers",
               [](TensorCollection& c) {
                 SetConfig(c, "\"encoder_layers\":1",
                           "\"encoder_layers\":99999999999");
               },
               {"encoder_layers", "99999999999"}},
        Damage{"NotANumber",
               [](TensorCollection& c) {
                 SetWeight(c, "embedding.weight", 17, kNan);
               },
               {"embedding.weight", "not finite"}},
        Damage{"Infinite",
               [](TensorCollection& c) {
                 SetWeight(c, "output.bias", 7, -kInfinity);
               },
               {"output.bias", "not finite"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LoadModel, AMissingFileIsMissingInput) {
  try {
    LoadModel(Path("no-such.safetensors"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputMissing);
    EXPECT_NE(std::string(error.what()).find("no-such.safetensors"),
              std::string::npos);
  }
}

TEST(LoadModel, EveryCutIsRefused) {
  const VocabularyPair vocabularies = JointVocabulary();
  const std::string path = Path("cut.safetensors");
  WriteModel(*NewNetwork(ConfigFor(vocabularies), 1), vocabularies, path);
  const std::string good = Bytes(path);
  for (size_t size = 0; size < good.size(); size += 1 + size / 7) {
    std::ofstream(path, std::ios::binary) << good.substr(0, size);
    EXPECT_THROW(LoadModel(path), Error) << size << " bytes";
  }
}

}  // namespace
}  // namespace pipeformer
