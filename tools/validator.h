// How good a network is on held-out pairs: its cross-entropy, and BLEU and
// chrF of its greedy translations.
#ifndef PIPEFORMER_TOOLS_VALIDATOR_H_
#define PIPEFORMER_TOOLS_VALIDATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "lib/base/worker_pool.h"
#include "lib/train/communicator.h"
#include "lib/train/trainer.h"
#include "tools/training_data.h"

namespace pipeformer {

// A metric's name as in --valid-metrics and its value: cross-entropy in nats a
// piece, BLEU (13a, cased) and chrF2 from 0 to 100.
struct MetricValue {
  std::string name;
  double value;
};

class Validator {
 public:
  // Everything named outlives the validator.
  Validator(const TrainingData& data, const VocabularyPair& vocabularies,
            std::vector<std::string> metrics, WorkerPool& pool,
            Communicator& processes)
      : data_(data),
        vocabularies_(vocabularies),
        metrics_(std::move(metrics)),
        pool_(pool),
        processes_(processes) {}

  // One value a metric, in their order, the same in all processes, which share
  // the work. `network` is packed.
  std::vector<MetricValue> Validate(Trainer& trainer,
                                    const Transformer& network) const;

 private:
  std::vector<std::string> Translate(const Transformer& network) const;
  std::vector<std::vector<int32_t>> TranslateShare(
      const Transformer& network) const;

  const TrainingData& data_;
  const VocabularyPair& vocabularies_;
  std::vector<std::string> metrics_;
  WorkerPool& pool_;
  Communicator& processes_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_VALIDATOR_H_
