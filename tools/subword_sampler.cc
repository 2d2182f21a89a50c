#include "tools/subword_sampler.h"

#include <span>

#include "lib/base/error.h"

namespace pipeformer {

SubwordSampler::SubwordSampler(const TrainingData& data,
                               const VocabularyPair& vocabularies,
                               const SubwordSampling& options, WorkerPool& pool)
    : options_(options),
      pool_(pool),
      source_{*vocabularies.source,
              data.source_text(),
              data.corpus().source,
              options.source_alpha,
              {}},
      target_{*vocabularies.target,
              data.target_text(),
              data.corpus().target,
              options.target_alpha,
              {}} {
  for (const Side* side : {&source_, &target_}) {
    if (side->alpha == 0 || side->vocabulary.CanSample()) continue;
    ThrowUsage(
        "--sentencepiece-alphas needs a unigram or bpe vocabulary; one of "
        "words or characters has one cut for each text");
  }
}

PairCorpus SubwordSampler::Cut(int64_t epoch) {
  const Random random =
      Random(options_.seed).Fork(0x53706d41).Fork(static_cast<uint64_t>(epoch));
  return {Cut(source_, random.Fork(0)), Cut(target_, random.Fork(1))};
}

IdList SubwordSampler::Cut(Side& side, Random random) {
  if (side.alpha == 0) return side.best;
  const int64_t size = side.best.size();
  const int64_t count = pool_.num_workers();
  std::vector<PackedIds> parts(static_cast<size_t>(count));
  pool_.Run([&](int w) {
    PackedIds& part = parts[static_cast<size_t>(w)];
    for (int64_t s = size * w / count; s < size * (w + 1) / count; ++s) {
      const std::vector<int32_t> ids =
          side.vocabulary
              .SampleEncode(side.text[static_cast<size_t>(s)], side.alpha,
                            random.Fork(static_cast<uint64_t>(s)))
              .ids;
      const bool fits = !ids.empty() &&
                        static_cast<int64_t>(ids.size()) <= options_.max_length;
      part.Add(fits ? std::span<const int32_t>(ids) : side.best[s]);
    }
  });
  side.cut = PackedIds();
  for (const PackedIds& part : parts) {
    for (size_t i = 0; i < part.num_sentences(); ++i) {
      side.cut.Add(std::span(part.ids).subspan(
          static_cast<size_t>(part.offsets[i]),
          static_cast<size_t>(part.offsets[i + 1] - part.offsets[i])));
    }
  }
  return {side.cut.ids, side.cut.offsets};
}

}  // namespace pipeformer
