#include "tools/subword_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/text/vocabulary_trainer.h"
#include "lib/text/word_links.h"
#include "tests/formats/test_files.h"
#include "tests/formats/test_model.h"

namespace pipeformer {
namespace {

const std::vector<std::string> kText = {
    "lower lower lower newer newer\tlow lower lowest newest",
    "newest newer wider\twide wider widest", "slower\tslow slower slowest"};
const std::vector<std::vector<Link>> kWordLinks = {
    {{0, 1}, {1, 1}, {4, 3}}, {{0, 0}, {2, 1}}, {{0, 0}, {0, 2}}};

CommonOptions OneThread() {
  CommonOptions options;
  options.threads = 1;
  options.quiet = true;
  return options;
}

VocabularyPair Subwords(const std::string& model_type, int64_t vocab_size) {
  VocabularyOptions options;
  options.model_type = model_type;
  options.vocab_size = vocab_size;
  size_t next = 0;
  const TrainedVocabulary trained =
      TrainVocabulary(options, [&](std::string* line) {
        if (next == kText.size()) return false;
        *line = kText[next++];
        return true;
      });
  const auto joint = std::make_shared<const Vocabulary>(trained.model);
  return {joint, joint};
}

class SubwordSamplerTest : public testing::TestWithParam<const char*> {
 protected:
  // The text as training data, with the links of its words.
  TrainingData Read(WorkerPool& pool) {
    std::string lines, alignments;
    for (const std::string& line : kText) lines += line + "\n";
    for (const auto& links : kWordLinks) {
      for (const Link& link : links) {
        alignments += std::to_string(link.source) + "-" +
                      std::to_string(link.target) + " ";
      }
      alignments += "\n";
    }
    std::ofstream(Path("text.tsv")) << lines;
    std::ofstream(Path("text.align")) << alignments;
    return TrainingData(
        tool_,
        {.files = {Path("text.tsv")},
         .from = "tsv",
         .max_length = 100,
         .keep_text = KeepText::kBoth,
         .notes = NoteFiles{.weights = "", .alignment = Path("text.align")}},
        vocabularies_, pool);
  }

  // The links between pieces, by counting words: one begins with each white
  // space mark.
  std::vector<Link> ExpectedLinks(const PairCorpus& corpus, int64_t s) const {
    const auto words_of = [&](const IdList& list) {
      std::vector<int32_t> words;
      int32_t word = -1;
      for (const int32_t id : list[s]) {
        const std::string& piece = vocabularies_.source->PieceOf(id);
        if (piece.starts_with("\u2581")) ++word;
        words.push_back(word);
      }
      return words;
    };
    const auto source = words_of(corpus.source);
    const auto target = words_of(corpus.target);
    std::vector<Link> links;
    for (size_t t = 0; t < target.size(); ++t) {
      for (size_t f = 0; f < source.size(); ++f) {
        const auto& words = kWordLinks[static_cast<size_t>(s)];
        const Link link = {source[f], target[t]};
        if (std::find(words.begin(), words.end(), link) == words.end()) {
          continue;
        }
        links.push_back({static_cast<int32_t>(f), static_cast<int32_t>(t)});
      }
    }
    return links;
  }

  Tool tool_{"train", OneThread()};
  const VocabularyPair vocabularies_ = Subwords(GetParam(), 22);
};

std::vector<int32_t> Ids(const IdList& list, int64_t s) {
  return {list[s].begin(), list[s].end()};
}

// All that a corpus says, to compare.
struct Copy {
  explicit Copy(const PairCorpus& corpus)
      : links(corpus.links.begin(), corpus.links.end()),
        link_offsets(corpus.link_offsets.begin(), corpus.link_offsets.end()) {
    for (int64_t s = 0; s < corpus.size(); ++s) {
      source.push_back(Ids(corpus.source, s));
      target.push_back(Ids(corpus.target, s));
    }
  }
  bool operator==(const Copy&) const = default;

  std::vector<std::vector<int32_t>> source, target;
  std::vector<Link> links;
  std::vector<int64_t> link_offsets;
};

TEST_P(SubwordSamplerTest, EveryEpochCutsTheSameTextAnew) {
  WorkerPool pool(1);
  const TrainingData data = Read(pool);
  SubwordSampler sampler(
      data, vocabularies_,
      {.source_alpha = 0.3, .target_alpha = 0.3, .max_length = 100, .seed = 7},
      pool);
  std::vector<Copy> epochs;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    const PairCorpus corpus = sampler.Cut(epoch);
    ASSERT_EQ(corpus.size(), 3);
    for (int64_t s = 0; s < 3; ++s) {
      const std::string& line = kText[static_cast<size_t>(s)];
      const size_t tab = line.find('\t');
      EXPECT_EQ(vocabularies_.source->Decode(corpus.source[s]),
                line.substr(0, tab));
      EXPECT_EQ(vocabularies_.target->Decode(corpus.target[s]),
                line.substr(tab + 1));
    }
    for (const Copy& earlier : epochs) EXPECT_FALSE(Copy(corpus) == earlier);
    epochs.emplace_back(corpus);
  }
  EXPECT_TRUE(Copy(sampler.Cut(2)) == epochs[2]);
}

TEST_P(SubwordSamplerTest, LinksFollowThePieces) {
  WorkerPool pool(1);
  const TrainingData data = Read(pool);
  // Of one side alone, the other keeps its best cut.
  for (const auto& [source, target] : {std::pair(0.3, 0.3), {0.0, 0.5}}) {
    SubwordSampler sampler(
        data, vocabularies_,
        {.source_alpha = source, .target_alpha = target, .max_length = 100},
        pool);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const PairCorpus corpus = sampler.Cut(epoch);
      ASSERT_EQ(corpus.link_offsets.size(), 4u);
      for (int64_t s = 0; s < 3; ++s) {
        const auto links = corpus.LinksOf(s);
        EXPECT_EQ(std::vector<Link>(links.begin(), links.end()),
                  ExpectedLinks(corpus, s));
        if (source == 0) {
          EXPECT_EQ(Ids(corpus.source, s), Ids(data.corpus().source, s));
        }
      }
    }
  }
}

TEST_P(SubwordSamplerTest, WorkersDoNotChangeTheCut) {
  WorkerPool one(1);
  const TrainingData data = Read(one);
  const SubwordSampling options = {
      .source_alpha = 0.3, .target_alpha = 0.3, .max_length = 100};
  const Copy expected(SubwordSampler(data, vocabularies_, options, one).Cut(5));
  for (const int workers : {2, 3, 5}) {
    WorkerPool pool(workers);
    SubwordSampler sampler(data, vocabularies_, options, pool);
    EXPECT_TRUE(Copy(sampler.Cut(5)) == expected) << workers;
  }
}

// A cut that became too long for the network gives way to the best one.
TEST_P(SubwordSamplerTest, TooLongCutsGiveWay) {
  WorkerPool pool(1);
  const TrainingData data = Read(pool);
  SubwordSampler sampler(
      data, vocabularies_,
      {.source_alpha = 0.3, .target_alpha = 0.3, .max_length = 1}, pool);
  EXPECT_TRUE(Copy(sampler.Cut(0)) == Copy(data.corpus()));
}

INSTANTIATE_TEST_SUITE_P(Models, SubwordSamplerTest,
                         testing::Values("bpe", "unigram"));

TEST(SubwordSampler, RefusesVocabulariesOfOneCut) {
  WorkerPool pool(1);
  Tool tool("train", OneThread());
  const VocabularyPair letters = JointVocabulary();
  std::ofstream(Path("letters.tsv")) << "a bb\tccc\n";
  const TrainingData data(tool,
                          {.files = {Path("letters.tsv")},
                           .from = "tsv",
                           .max_length = 100,
                           .keep_text = KeepText::kBoth},
                          letters, pool);
  try {
    SubwordSampler(data, letters, {.source_alpha = 0.1, .max_length = 9}, pool);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
  }
}

}  // namespace
}  // namespace pipeformer
