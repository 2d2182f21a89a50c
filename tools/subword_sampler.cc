#include "tools/subword_sampler.h"

#include "lib/base/error.h"
#include "lib/text/word_links.h"

namespace pipeformer {
namespace {

void Append(const PackedIds& from, PackedIds& to) {
  const int64_t before = to.offsets.back();
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
  for (size_t s = 1; s < from.offsets.size(); ++s) {
    to.offsets.push_back(before + from.offsets[s]);
  }
}

}  // namespace

SubwordSampler::SubwordSampler(const TrainingData& data,
                               const VocabularyPair& vocabularies,
                               const SubwordSampling& options, WorkerPool& pool)
    : data_(data),
      best_(data.corpus()),
      vocabularies_(vocabularies),
      options_(options),
      pool_(pool) {
  if ((options.source_alpha > 0 && !vocabularies.source->CanSample()) ||
      (options.target_alpha > 0 && !vocabularies.target->CanSample())) {
    ThrowUsage(
        "--sentencepiece-alphas needs a unigram or bpe vocabulary; one of "
        "words or characters has one cut for each text");
  }
}

PairCorpus SubwordSampler::Cut(int64_t epoch) {
  const Random random =
      Random(options_.seed).Fork(0x53706d41).Fork(static_cast<uint64_t>(epoch));
  const int64_t count = pool_.num_workers();
  std::vector<Part> parts(static_cast<size_t>(count));
  pool_.Run([&](int w) {
    const int64_t end = best_.size() * (w + 1) / count;
    for (int64_t s = best_.size() * w / count; s < end; ++s) {
      CutPair(s, random.Fork(static_cast<uint64_t>(s)),
              parts[static_cast<size_t>(w)]);
    }
  });
  all_ = Part();
  all_.link_offsets.push_back(0);
  for (const Part& part : parts) {
    Append(part.source, all_.source);
    Append(part.target, all_.target);
    const int64_t before = all_.link_offsets.back();
    all_.links.insert(all_.links.end(), part.links.begin(), part.links.end());
    for (const int64_t end : part.link_offsets) {
      all_.link_offsets.push_back(before + end);
    }
  }
  PairCorpus corpus{{all_.source.ids, all_.source.offsets},
                    {all_.target.ids, all_.target.offsets},
                    best_.weights};
  if (best_.is_aligned()) {
    corpus.links = all_.links;
    corpus.link_offsets = all_.link_offsets;
  }
  return corpus;
}

int64_t SubwordSampler::bytes() const {
  const auto of = [](const auto& list) {
    return list.size() * sizeof(list.front());
  };
  return static_cast<int64_t>(of(all_.source.ids) + of(all_.source.offsets) +
                              of(all_.target.ids) + of(all_.target.offsets) +
                              of(all_.links) + of(all_.link_offsets));
}

Sentence SubwordSampler::Cut(const Vocabulary& vocabulary,
                             const std::string& text, double alpha,
                             Random random) const {
  Sentence cut = vocabulary.SampleEncode(text, alpha, random);
  const auto size = static_cast<int64_t>(cut.ids.size());
  if (size == 0 || size > options_.max_length) cut.ids.clear();
  return cut;
}

void SubwordSampler::CutPair(int64_t pair, Random random, Part& part) const {
  const auto at = static_cast<size_t>(pair);
  const bool aligned = !data_.word_links().empty();
  const auto cut = [&](const Vocabulary& vocabulary, const std::string& text,
                       double alpha, const IdList& best, Random chance) {
    Sentence sentence;
    if (alpha > 0) sentence = Cut(vocabulary, text, alpha, chance);
    if (!sentence.ids.empty()) return sentence;
    // The best cut; links need the places of its pieces too.
    if (aligned) sentence = vocabulary.Encode(text);
    sentence.ids.assign(best[pair].begin(), best[pair].end());
    return sentence;
  };
  const Sentence source =
      cut(*vocabularies_.source, data_.source_text()[at], options_.source_alpha,
          best_.source, random.Fork(0));
  const Sentence target =
      cut(*vocabularies_.target, data_.target_text()[at], options_.target_alpha,
          best_.target, random.Fork(1));
  part.source.Add(source.ids);
  part.target.Add(target.ids);
  if (!aligned) return;
  const std::vector<Link> links =
      LinkPieces(source, target, data_.word_links()[at]);
  part.links.insert(part.links.end(), links.begin(), links.end());
  part.link_offsets.push_back(static_cast<int64_t>(part.links.size()));
}

}  // namespace pipeformer
