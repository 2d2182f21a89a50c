// Subword regularisation: the training text cut into pieces anew for every
// epoch, each time by chance. Source: Kudo 2018, section 3.2 (unigram models);
// Provilkov et al. 2020, section 3 (BPE models).
#ifndef PIPEFORMER_TOOLS_SUBWORD_SAMPLER_H_
#define PIPEFORMER_TOOLS_SUBWORD_SAMPLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "formats/packed_corpus.h"
#include "lib/base/link.h"
#include "lib/base/random.h"
#include "lib/base/worker_pool.h"
#include "lib/data/corpus.h"
#include "lib/text/sentence.h"
#include "tools/training_data.h"

namespace pipeformer {

struct SubwordSampling {
  double source_alpha = 0;  // as Vocabulary::SampleEncode; 0: the best cut
  double target_alpha = 0;
  int64_t max_length = 0;  // pieces; a cut with more gives way to the best one
  uint64_t seed = 1;

  bool active() const { return source_alpha > 0 || target_alpha > 0; }
};

class SubwordSampler {
 public:
  // Requires: everything named outlives the sampler; `data` keeps both texts.
  // Throws Error (64) where a vocabulary has one cut only.
  SubwordSampler(const TrainingData& data, const VocabularyPair& vocabularies,
                 const SubwordSampling& options, WorkerPool& pool);

  // The pairs of `data` as cut for an epoch, with their weights and with links
  // between the new pieces: a function of seed, epoch and text. The result is
  // valid until the next call.
  PairCorpus Cut(int64_t epoch);

  // Memory of the last cut.
  int64_t bytes() const;

 private:
  // What one worker cuts.
  struct Part {
    PackedIds source, target;
    std::vector<Link> links;  // between pieces
    std::vector<int64_t> link_offsets;
  };

  // Without ids where the cut does not fit.
  Sentence Cut(const Vocabulary& vocabulary, const std::string& text,
               double alpha, Random random) const;
  void CutPair(int64_t pair, Random random, Part& part) const;

  const TrainingData& data_;
  const PairCorpus best_;  // the cuts without chance
  const VocabularyPair& vocabularies_;
  SubwordSampling options_;
  WorkerPool& pool_;
  Part all_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SUBWORD_SAMPLER_H_
