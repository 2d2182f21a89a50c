// Divides a corpus into batches: an epoch is a seeded shuffle cut into batches
// of a token budget. Which sentences meet in a batch is left to chance: the
// gradient of sentences of one length is a biased one, and without padding
// nothing is gained by it. Within a batch like lengths stand together, so that
// the parts it is divided into (Split) are alike in themselves.
#ifndef PIPEFORMER_LIB_DATA_BATCHER_H_
#define PIPEFORMER_LIB_DATA_BATCHER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/random.h"
#include "lib/data/corpus.h"

namespace pipeformer {

// The numbers of the pairs in a batch.
using Batch = std::vector<int64_t>;

struct BatcherOptions {
  // Most rows of either side in a batch, an end symbol for each sentence
  // included. A longer pair has a batch of its own.
  int64_t batch_rows = 4096;
};

// Rows that pair s takes in a batch: the longer side with its end symbol.
int64_t RowsOf(const PairCorpus& corpus, int64_t s);

// All batches of one epoch: every pair once, the same for the same `random`.
std::vector<Batch> MakeEpoch(const PairCorpus& corpus,
                             const BatcherOptions& options, Random random);

// Divides a batch into `count` or fewer parts of about equal rows (source and
// target together), in order.
std::vector<std::span<const int64_t>> Split(const PairCorpus& corpus,
                                            const Batch& batch, int64_t count);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_DATA_BATCHER_H_
