// Divides a corpus into batches: an epoch is a seeded shuffle cut into batches
// of a token budget. Which sentences meet in a batch is left to chance: the
// gradient of sentences of one length is a biased one, and without padding
// nothing is gained by it. Within a batch like lengths stand together, so that
// the parts it is divided into (Split) are alike in themselves.
#ifndef PIPEFORMER_LIB_DATA_BATCHER_H_
#define PIPEFORMER_LIB_DATA_BATCHER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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

// The batches of one epoch, in four bytes a pair and four a batch; each is
// made a list of its own when it is asked for.
class EpochBatches {
 public:
  //   pairs  the numbers of all pairs, batch after batch
  //   ends   where in `pairs` each batch ends
  EpochBatches(std::vector<uint32_t> pairs, std::vector<uint32_t> ends)
      : pairs_(std::move(pairs)), ends_(std::move(ends)) {}

  size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  Batch operator[](size_t i) const;
  Batch front() const { return (*this)[0]; }
  bool operator==(const EpochBatches&) const = default;

  class Iterator {
   public:
    Iterator(const EpochBatches& epoch, size_t i) : epoch_(epoch), i_(i) {}
    Batch operator*() const { return epoch_[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return i_ == other.i_; }

   private:
    const EpochBatches& epoch_;
    size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  std::vector<uint32_t> pairs_, ends_;
};

// All batches of one epoch: every pair once, the same for the same `random`.
EpochBatches MakeEpoch(const PairCorpus& corpus, const BatcherOptions& options,
                       Random random);

// Divides a batch into `count` or fewer parts of about equal rows (source and
// target together), in order.
std::vector<std::span<const int64_t>> Split(const PairCorpus& corpus,
                                            const Batch& batch, int64_t count);

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_DATA_BATCHER_H_
