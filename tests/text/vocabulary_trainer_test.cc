#include "lib/text/vocabulary_trainer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "lib/base/error.h"
#include "lib/text/vocabulary.h"

namespace pipeformer {
namespace {

std::vector<std::string> Corpus() {
  std::ifstream file("tests/text/data/train.txt");
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) lines.push_back(line);
  EXPECT_GT(lines.size(), 100u);
  return lines;
}

TrainedVocabulary Train(const std::vector<std::string>& lines,
                        const VocabularyOptions& options) {
  size_t next = 0;
  return TrainVocabulary(options, [&](std::string* line) {
    if (next == lines.size()) return false;
    *line = lines[next++];
    return true;
  });
}

std::string ErrorOf(const std::vector<std::string>& lines,
                    const VocabularyOptions& options) {
  try {
    Train(lines, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kBadData);
    return error.what();
  }
  return "no error";
}

class ModelTypeTest : public testing::TestWithParam<const char*> {};

TEST_P(ModelTypeTest, GivesAModelOfTheSizeThatReadsItsText) {
  VocabularyOptions options;
  options.model_type = GetParam();
  options.vocab_size = 100;
  const std::vector<std::string> lines = Corpus();
  const TrainedVocabulary trained = Train(lines, options);
  EXPECT_EQ(trained.num_sentences, static_cast<int64_t>(lines.size()));
  const Vocabulary vocabulary(trained.model);
  EXPECT_LE(vocabulary.size(), 100);
  EXPECT_EQ(vocabulary.unk_id(), 0);
  EXPECT_EQ(vocabulary.bos_id(), 1);
  EXPECT_EQ(vocabulary.eos_id(), 2);
  EXPECT_EQ(vocabulary.pad_id(), -1);
  EXPECT_EQ(vocabulary.CanSample(),
            options.model_type == "unigram" || options.model_type == "bpe");
  if (options.model_type == "word") return;
  for (const std::string& line : lines) {
    EXPECT_EQ(vocabulary.Decode(vocabulary.Encode(line).ids), line);
  }
}

TEST_P(ModelTypeTest, SameTextGivesTheSameBytes) {
  VocabularyOptions options;
  options.model_type = GetParam();
  options.vocab_size = 100;
  EXPECT_EQ(Train(Corpus(), options).model, Train(Corpus(), options).model);
}

INSTANTIATE_TEST_SUITE_P(Types, ModelTypeTest,
                         testing::Values("unigram", "bpe", "char", "word"));

TEST(VocabularyTrainer, TooLargeASizeNamesTheLargest) {
  for (const char* type : {"unigram", "bpe"}) {
    VocabularyOptions options;
    options.model_type = type;
    options.vocab_size = 100000;
    const std::string message = ErrorOf(Corpus(), options);
    const std::string words = "the largest possible is ";
    const size_t at = message.find(words);
    ASSERT_NE(at, std::string::npos) << message;
    options.vocab_size = std::stoi(message.substr(at + words.size()));
    EXPECT_EQ(Vocabulary(Train(Corpus(), options).model).size(),
              options.vocab_size);
    ++options.vocab_size;
    EXPECT_NE(ErrorOf(Corpus(), options), "no error");
  }
}

TEST(VocabularyTrainer, TooSmallASizeIsExplained) {
  VocabularyOptions options;
  options.vocab_size = 10;
  for (const char* type : {"unigram", "bpe"}) {
    options.model_type = type;
    EXPECT_EQ(ErrorOf(Corpus(), options),
              "a vocabulary of 10 pieces cannot hold the characters of the "
              "text; the smallest possible is 73, give --vocab-size 73 or "
              "more, or a lower --character-coverage");
  }
}

// Field case empty-file-decode for the programs that learn.
TEST(VocabularyTrainer, NoTextIsAnError) {
  EXPECT_NE(ErrorOf({}, {}).find("no text to learn from"), std::string::npos);
  EXPECT_NE(ErrorOf({"", ""}, {}).find("no text to learn from"),
            std::string::npos);
  EXPECT_NE(
      ErrorOf({" ", "\u3000", "\u200B", "\u2581", "\t"}, {}).find("no text"),
      std::string::npos);
  VocabularyOptions options;
  options.user_defined_symbols = {"<sep>"};
  EXPECT_NE(ErrorOf({"<sep>", "<sep> <sep>"}, options).find("no text"),
            std::string::npos);
}

// Field case small-all-too-long.
TEST(VocabularyTrainer, SaysWhenAllLinesAreTooLong) {
  EXPECT_NE(ErrorOf({std::string(10000, 'x')}, {}).find("1 of 1 lines"),
            std::string::npos);
}

// Field case small-no-pair: a word whose pieces occur once only.
TEST(VocabularyTrainer, OneWordIsEnough) {
  VocabularyOptions options;
  options.vocab_size = 7;
  for (const char* type : {"unigram", "bpe", "char"}) {
    options.model_type = type;
    const Vocabulary vocabulary(Train({"abc"}, options).model);
    EXPECT_EQ(vocabulary.size(), 7) << type;
    EXPECT_EQ(vocabulary.Decode(vocabulary.Encode("abc").ids), "abc") << type;
  }
}

// Field case enc-nul.
TEST(VocabularyTrainer, ReservedCharactersReadAsSpaces) {
  VocabularyOptions options;
  options.model_type = "char";
  options.vocab_size = 20;
  const std::vector<std::string> lines = {std::string("a\0b", 3), "c\u2585d"};
  const TrainedVocabulary trained = Train(lines, options);
  EXPECT_EQ(trained.num_reserved, 2);
  const Vocabulary vocabulary(trained.model);
  std::set<std::string> pieces;
  for (int32_t id = 3; id < vocabulary.size(); ++id) {
    pieces.insert(vocabulary.PieceOf(id));
  }
  EXPECT_EQ(pieces, (std::set<std::string>{"\u2581", "a", "b", "c", "d"}));
}

// Field case voc-invisible: the model is no list of lines, so that invisible
// pieces survive.
TEST(VocabularyTrainer, InvisibleCharactersAreOrdinaryPieces) {
  VocabularyOptions options;
  options.model_type = "char";
  options.vocab_size = 20;
  options.normalization_rule_name = "identity";
  const std::vector<std::string> invisible = {
      "\u0083", "\u200B", "\uFEFF", "\u2028", "\x0B", "\u00A0", "\r"};
  const Vocabulary vocabulary(Train(invisible, options).model);
  for (const std::string& character : invisible) {
    EXPECT_NE(vocabulary.IdOf(character), vocabulary.unk_id());
    EXPECT_EQ(vocabulary.PieceOf(vocabulary.IdOf(character)), character);
  }
}

// Field case voc-case-dups.
TEST(VocabularyTrainer, CaseMakesTwoPieces) {
  VocabularyOptions options;
  options.model_type = "word";
  options.vocab_size = 5;
  const Vocabulary vocabulary(Train({"Stern", "stern"}, options).model);
  EXPECT_NE(vocabulary.IdOf("\u2581Stern"), vocabulary.IdOf("\u2581stern"));
  EXPECT_NE(vocabulary.IdOf("\u2581Stern"), vocabulary.unk_id());
}

TEST(VocabularyTrainer, SymbolsAreAlwaysOnePiece) {
  VocabularyOptions options;
  options.vocab_size = 100;
  options.user_defined_symbols = {"<sep>", ",", "a\"b"};
  options.control_symbols = {"<2de>"};
  const Vocabulary vocabulary(Train(Corpus(), options).model);
  for (const char* symbol : {"<sep>", ",", "a\"b"}) {
    const std::string text = std::string("cat") + symbol + "dog";
    const Sentence sentence = vocabulary.Encode(text);
    EXPECT_NE(std::find(sentence.tokens.begin(), sentence.tokens.end(), symbol),
              sentence.tokens.end())
        << symbol;
  }
  EXPECT_TRUE(vocabulary.IsControl(vocabulary.IdOf("<2de>")));
}

// Field case voc-specials-present: special pieces are there once.
TEST(VocabularyTrainer, OptionsThatCannotBeAreRefused) {
  const auto refused = [](const VocabularyOptions& options) {
    try {
      Train(Corpus(), options);
    } catch (const Error& error) {
      return error.code() == ExitCode::kUsage;
    }
    return false;
  };
  for (const char* symbol : {"<unk>", "<s>", "</s>", ""}) {
    VocabularyOptions options;
    options.user_defined_symbols = {symbol};
    EXPECT_TRUE(refused(options)) << symbol;
    options.user_defined_symbols.clear();
    options.control_symbols = {symbol};
    EXPECT_TRUE(refused(options)) << symbol;
  }
  VocabularyOptions twice;
  twice.user_defined_symbols = {"a"};
  twice.control_symbols = {"a"};
  EXPECT_TRUE(refused(twice));
  VocabularyOptions no_rule;
  no_rule.normalization_rule_name = "none";
  EXPECT_TRUE(refused(no_rule));
}

TEST(VocabularyTrainer, FaultOfTheSourceComesThrough) {
  int count = 0;
  const SentenceSource source = [&](std::string* line) -> bool {
    if (++count == 5) throw Error(ExitCode::kInputOutput, "gone");
    *line = "some text";
    return true;
  };
  try {
    TrainVocabulary({}, source);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kInputOutput);
  }
}

}  // namespace
}  // namespace pipeformer
