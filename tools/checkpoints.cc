#include "tools/checkpoints.h"

#include <filesystem>
#include <set>
#include <span>
#include <string_view>

#include "formats/output_file.h"
#include "lib/base/error.h"
#include "lib/train/weight_average.h"

namespace pipeformer {
namespace {

namespace fs = std::filesystem;

constexpr char kUpdate[] = ".update-";
constexpr char kModelEnd[] = ".safetensors";

void CheckModelPath(const std::string& path) {
  if (path.empty() || path == "-") {
    ThrowUsage("--model is '" + path +
               "'; name a file, FILE.state is written beside it");
  }
  if (fs::exists(path) && !fs::is_regular_file(path)) {
    throw Error(ExitCode::kCannotCreate,
                path + ": is no regular file; --model names a file");
  }
}

// A run that is begun again before its first state would begin with what it
// has written itself.
void CheckInitModel(const std::string& init, const std::string& path) {
  std::error_code error;
  if (init.empty() || !fs::equivalent(init, path, error)) return;
  ThrowUsage("--init-model and --model are both " + path +
             "; a training that is interrupted needs its first weights again, "
             "so give --model another name");
}

// `MODEL.update-NUMBER.safetensors`
bool IsUpdateFile(std::string_view name, const std::string& model) {
  const std::string begin = model + kUpdate;
  if (!name.starts_with(begin) || !name.ends_with(kModelEnd)) return false;
  name.remove_prefix(begin.size());
  const size_t digits = name.find_first_not_of("0123456789");
  return digits > 0 && name.substr(digits) == kModelEnd;
}

}  // namespace

Checkpoints::Checkpoints(const TrainSettings& settings, Role role)
    : settings_(settings), writes_(role == Role::kWriter) {
  CheckModelPath(settings.model);
  CheckInitModel(settings.init_model, settings.model);
  if (!writes_) return;
  OutputFile probe(settings.model);  // created and, not committed, removed
  RemoveUnfinished(settings.model);
}

bool Checkpoints::HasState() const { return fs::exists(StateFile()); }

void Checkpoints::RemoveState() const {
  if (!writes_) return;
  std::error_code error;
  if (fs::remove(StateFile(), error) || !error) return;
  throw Error(ExitCode::kCannotCreate,
              StateFile() + ": cannot remove: " + error.message());
}

void Checkpoints::Resume(const TrainingIdentity& identity, Transformer& network,
                         OptimizerState& optimizer,
                         TrainingPosition& position) const {
  ReadTrainingState(StateFile(), identity, network.parameters(), optimizer,
                    position);
  for (const Checkpoint& checkpoint : position.checkpoints) {
    const std::string file = UpdateFile(checkpoint.step);
    if (fs::exists(file)) continue;
    throw Error(ExitCode::kInputMissing,
                file +
                    ": is missing, which the average at the end needs; "
                    "bring it back or use --restart");
  }
}

void Checkpoints::WriteModels(const Transformer& network,
                              const VocabularyPair& vocabularies,
                              const TrainingPosition& position, int64_t step,
                              const std::vector<bool>& is_best) const {
  if (!writes_) return;
  if (IsKept(position.checkpoints, step)) {
    pipeformer::WriteModel(network, vocabularies, UpdateFile(step));
  }
  const bool averages = settings_.checkpoints.count > 0;
  for (size_t m = 0; settings_.keep_best && m < is_best.size(); ++m) {
    // Without an average the best by the first metric is --model itself.
    if (is_best[m] && (m > 0 || averages)) {
      pipeformer::WriteModel(network, vocabularies, BestFile(m));
    }
  }
  if (!settings_.keep_best || is_best[0]) WriteModel(network, vocabularies);
}

void Checkpoints::WriteModel(const Transformer& network,
                             const VocabularyPair& vocabularies) const {
  if (!writes_) return;
  pipeformer::WriteModel(network, vocabularies, settings_.model);
}

void Checkpoints::WriteState(const TrainingIdentity& identity,
                             const Transformer& network,
                             const OptimizerState& optimizer,
                             const TrainingPosition& position) const {
  if (!writes_) return;
  WriteTrainingState(network.parameters(), optimizer, position, identity,
                     StateFile());
}

void Checkpoints::RemoveOthers(const TrainingPosition& position) const {
  if (!writes_ || settings_.checkpoints.count == 0) return;
  std::set<std::string> kept;
  for (const Checkpoint& c : position.checkpoints) {
    kept.insert(fs::path(UpdateFile(c.step)).filename());
  }
  const fs::path model = settings_.model;
  const fs::path folder = model.has_parent_path() ? model.parent_path() : ".";
  std::vector<fs::path> old;
  std::error_code error;  // what cannot be removed does no harm
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (IsUpdateFile(name, model.filename()) && !kept.contains(name)) {
      old.push_back(entry.path());
    }
  }
  for (const fs::path& file : old) fs::remove(file, error);
}

void Checkpoints::Average(const VocabularyPair& vocabularies,
                          const TrainingPosition& position,
                          Transformer& network) const {
  const std::span<float> values(
      network.parameters().values(),
      static_cast<size_t>(network.parameters().size()));
  WeightAverage average(network.parameters().size());
  for (const Checkpoint& checkpoint : position.checkpoints) {
    CopyWeights(UpdateFile(checkpoint.step), vocabularies, network);
    average.Add(values);
  }
  average.Mean(values);
}

std::string Checkpoints::StateFile() const {
  return settings_.model + ".state";
}

std::string Checkpoints::BestFile(size_t metric) const {
  return settings_.model + ".best-" + settings_.valid_metrics[metric] +
         kModelEnd;
}

std::string Checkpoints::UpdateFile(int64_t step) const {
  return settings_.model + kUpdate + std::to_string(step) + kModelEnd;
}

}  // namespace pipeformer
