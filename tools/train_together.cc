#include "tools/train_together.h"

#include <algorithm>
#include <span>
#include <vector>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

void RefuseStandardInput(const std::string& option,
                         const std::vector<std::string>& files) {
  if (std::find(files.begin(), files.end(), "-") == files.end()) return;
  ThrowUsage(option +
             " reads standard input, which several processes cannot share; "
             "write it to a file that all of them see, and name that");
}

}  // namespace

void CheckTogether(const TrainSettings& settings, const Ranks& ranks) {
  ranks.CheckAllFound();
  if (ranks.communicator().size() == 1) return;
  RefuseStandardInput("--train-sets", settings.train_sets);
  RefuseStandardInput("--valid-sets", settings.valid_sets);
  RefuseStandardInput("--vocabs", settings.vocabs);
}

void CheckSameTraining(const TrainingIdentity& identity,
                       const std::string& state_file, StateIs state,
                       const Ranks& ranks) {
  const auto require = [&](const std::string& value,
                           const Agreement& agreement) {
    RequireSame(ranks.communicator(), std::as_bytes(std::span(value)),
                agreement);
  };
  for (const auto& [key, value] : identity.items()) {
    require(value.dump(),
            {.what = key, .remedy = "give all the same command and files"});
  }
  require(state == StateIs::kThere ? "there" : "missing",
          {.what = "whether there is a " + state_file,
           .remedy = "--model must lie in a folder that all of them share"});
}

}  // namespace pipeformer
