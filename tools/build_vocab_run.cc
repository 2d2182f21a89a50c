#include "tools/build_vocab_run.h"

#include <algorithm>
#include <utility>

#include "formats/records.h"
#include "lib/base/error.h"
#include "lib/text/vocabulary.h"
#include "tools/support/cores.h"
#include "tools/support/progress.h"

namespace pipeformer {
namespace {

// All lines of all --input files. Text that is not UTF-8 would teach the
// vocabulary nonsense, so that a bad line ends the run.
class Corpus {
 public:
  Corpus(Tool& tool, bool keep)
      : tool_(tool), keep_(keep), progress_(tool, "lines") {}

  bool Next(std::string* text) {
    Line line;
    while (readers_.empty() || !readers_.back().Next(&line)) {
      if (readers_.size() == tool_.options().inputs.size()) return false;
      readers_.push_back(tool_.OpenLines(readers_.size()));
    }
    if (!line.error.empty()) ThrowBadData(line.error);
    tool_.CountReplaced(line.num_replaced);
    progress_.Update(++num_lines_);
    *text = std::move(line.text);
    if (keep_) lines_.push_back(*text);
    return true;
  }

  // With `keep`: the lines given so far.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  Tool& tool_;
  bool keep_;
  Progress progress_;
  std::vector<LineReader> readers_;
  uint64_t num_lines_ = 0;
  std::vector<std::string> lines_;
};

void Warn(Tool& tool, const VocabularyOptions& options,
          const TrainedVocabulary& trained) {
  if (trained.num_too_long > 0) {
    const int64_t total = trained.num_too_long + trained.num_sentences;
    tool.Warn(std::to_string(trained.num_too_long) + " of " +
              std::to_string(total) + " lines are longer than " +
              std::to_string(options.max_sentence_length) +
              " bytes and were left out; raise --max-sentence-length to learn "
              "from them");
  }
  if (trained.num_reserved > 0) {
    tool.Warn("lines with NUL or U+2585, which were read as spaces: " +
              std::to_string(trained.num_reserved));
  }
}

std::string TypeOf(const Vocabulary& vocabulary, int32_t id,
                   const std::vector<std::string>& symbols) {
  if (vocabulary.IsUnknown(id)) return "unknown";
  if (vocabulary.IsControl(id)) return "control";
  if (vocabulary.IsByte(id)) return "byte";
  if (vocabulary.IsUnused(id)) return "unused";
  const auto& piece = vocabulary.PieceOf(id);
  const bool own =
      std::find(symbols.begin(), symbols.end(), piece) != symbols.end();
  return own ? "user-defined" : "normal";
}

// One record a piece, with how often it occurs in the text.
void WriteList(Tool& tool, const BuildVocabSettings& settings,
               const std::vector<std::string>& lines,
               const Vocabulary& vocabulary) {
  std::vector<int64_t> counts(static_cast<size_t>(vocabulary.size()));
  for (const std::string& line : lines) {
    for (const int32_t id : vocabulary.Encode(line).ids) {
      ++counts[static_cast<size_t>(id)];
    }
  }
  std::string text;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    text +=
        DumpRecord({{"id", id},
                    {"piece", vocabulary.PieceOf(id)},
                    {"score", vocabulary.ScoreOf(id)},
                    {"type", TypeOf(vocabulary, id,
                                    settings.vocabulary.user_defined_symbols)},
                    {"count", counts[static_cast<size_t>(id)]}});
  }
  tool.output().Write(text);
}

}  // namespace

void RunBuildVocab(Tool& tool, const BuildVocabSettings& settings) {
  tool.output();  // a place that cannot be written fails before the work
  UseCores(tool.options().threads);
  const bool list = settings.to == "jsonl";
  Corpus corpus(tool, list);
  TrainedVocabulary trained =
      TrainVocabulary(settings.vocabulary,
                      [&](std::string* text) { return corpus.Next(text); });
  Warn(tool, settings.vocabulary, trained);
  if (list) {
    WriteList(tool, settings, corpus.lines(), Vocabulary(trained.model));
  } else {
    tool.output().Write(trained.model);
  }
}

std::vector<Option> BuildVocabOptions(BuildVocabSettings& settings) {
  VocabularyOptions& v = settings.vocabulary;
  return {
      {.name = "model-type",
       .value = "unigram|bpe|char|word",
       .help = "how text is cut",
       .target = &v.model_type},
      {.name = "vocab-size",
       .value = "N",
       .help = "pieces, with <unk>, <s> and </s>; an upper limit for char",
       .target = &v.vocab_size,
       .min = 4,
       .max = 10'000'000},
      {.name = "character-coverage",
       .value = "X",
       .help = "share of the text's characters that get a piece; 0.9995 for "
               "Chinese or Japanese",
       .target = &v.character_coverage,
       .min = 0.98,
       .max = 1},
      {.name = "byte-fallback",
       .value = "",
       .help = "cut other characters into bytes, so that nothing is unknown",
       .target = &v.byte_fallback},
      {.name = "split-digits",
       .value = "",
       .help = "make each digit a piece of its own",
       .target = &v.split_digits},
      {.name = "user-defined-symbols",
       .value = "WORD",
       .help = "text that is always one piece",
       .target = &v.user_defined_symbols},
      {.name = "control-symbols",
       .value = "WORD",
       .help = "pieces that never come from text",
       .target = &v.control_symbols},
      {.name = "normalization-rule-name",
       .value = "nmt_nfkc|nfkc|nmt_nfkc_cf|nfkc_cf|identity",
       .help = "how text is made uniform first",
       .target = &v.normalization_rule_name},
      {.name = "max-sentence-length",
       .value = "BYTES",
       .help = "leave out longer lines",
       .target = &v.max_sentence_length,
       .min = 1,
       .max = 1 << 30},
      {.name = "to",
       .value = "model|jsonl",
       .help = "a SentencePiece model, or a record for each piece: id, piece, "
               "score, type, count",
       .target = &settings.to},
  };
}

}  // namespace pipeformer
