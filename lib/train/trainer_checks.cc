// What has to hold before weights are validated or saved.
#include <span>
#include <string>

#include "lib/train/communicator.h"
#include "lib/train/divergence.h"
#include "lib/train/trainer.h"

namespace pipeformer {

void Trainer::CheckFinite() const {
  const ParameterTable& parameters = model_.parameters();
  const auto check = [&](const char* what, std::span<const float> buffer) {
    if (buffer.empty()) return;
    const std::string name = FirstNotFinite(parameters, buffer);
    if (name.empty()) return;
    throw Divergence(state_.step, what + name, last_batch_);
  };
  check("the parameter ",
        {parameters.values(), static_cast<size_t>(parameters.size())});
  check("Adam's first moment of ", state_.first_moment);
  check("Adam's second moment of ", state_.second_moment);
  check("the average of ", state_.averages);
}

void Trainer::CheckAgreement() {
  const ParameterTable& parameters = model_.parameters();
  RequireSame(
      processes_,
      std::as_bytes(std::span(parameters.values(),
                              static_cast<size_t>(parameters.size()))),
      {.what = "their weights after update " + std::to_string(state_.step),
       .remedy = "run them on processors of one kind; the last checkpoint is "
                 "whole"});
}

}  // namespace pipeformer
