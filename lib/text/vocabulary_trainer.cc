#include "lib/text/vocabulary_trainer.h"

#include <sentencepiece_trainer.h>

#include <charconv>
#include <exception>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/base/error.h"
#include "lib/text/vocabulary.h"

namespace pipeformer {
namespace {

// SentencePiece refuses a corpus with NUL and drops sentences with U+2585,
// which it uses inside.
constexpr std::string_view kReserved[] = {std::string_view("\0", 1),
                                          "\xE2\x96\x85"};

// Expected counts are summed over this many shares of the text. Fixed, because
// the sums, and by them the pieces, depend on it in the last bits.
constexpr int kNumShares = 16;

void ReplaceAll(std::string_view word, std::string_view with,
                std::string* text) {
  std::string result;
  size_t begin = 0;
  while (true) {
    const size_t at = text->find(word, begin);
    result.append(*text, begin, at - begin);
    if (at == std::string::npos) break;
    result.append(with);
    begin = at + word.size();
  }
  *text = std::move(result);
}

// SentencePiece reads lists as comma-separated values with quotes.
std::string JoinAsCsv(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += ',';
    text += '"';
    for (const char c : item)
      text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  }
  return text;
}

std::string NumberText(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::unordered_map<std::string, std::string> Arguments(
    const VocabularyOptions& options) {
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  std::unordered_map<std::string, std::string> arguments = {
      {"model_type", options.model_type},
      {"vocab_size", std::to_string(options.vocab_size)},
      {"character_coverage", NumberText(options.character_coverage)},
      {"byte_fallback", flag(options.byte_fallback)},
      {"split_digits", flag(options.split_digits)},
      {"normalization_rule_name", options.normalization_rule_name},
      {"max_sentence_length", std::to_string(options.max_sentence_length)},
      {"num_threads", std::to_string(kNumShares)},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", std::to_string(options.pad_id)},
      {"minloglevel", "3"},  // all that matters is in the status
  };
  if (!options.user_defined_symbols.empty()) {
    arguments["user_defined_symbols"] = JoinAsCsv(options.user_defined_symbols);
  }
  if (!options.control_symbols.empty()) {
    arguments["control_symbols"] = JoinAsCsv(options.control_symbols);
  }
  return arguments;
}

// Whether anything of a sentence is left after normalisation. SentencePiece
// ends the whole program when nothing is left of any sentence.
class ContentProbe {
 public:
  explicit ContentProbe(const VocabularyOptions& options)
      : symbols_(options.user_defined_symbols) {
    VocabularyOptions smallest;
    smallest.model_type = "char";
    smallest.vocab_size = 10;
    smallest.normalization_rule_name = options.normalization_rule_name;
    OneSentence sentence;
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        Arguments(smallest), &sentence, &model);
    if (!status.ok()) ThrowUsage("SentencePiece: " + status.ToString());
    vocabulary_.emplace(std::move(model));
  }

  bool HasContent(std::string sentence) const {
    for (const auto& symbol : symbols_) ReplaceAll(symbol, "", &sentence);
    ReplaceAll("\xE2\x96\x81", " ", &sentence);
    return !vocabulary_->Encode(sentence).ids.empty();
  }

 private:
  class OneSentence : public sentencepiece::SentenceIterator {
   public:
    bool done() const override { return done_; }
    const std::string& value() const override { return value_; }
    sentencepiece::util::Status status() const override { return {}; }
    void Next() override { done_ = true; }

   private:
    std::string value_ = "a";
    bool done_ = false;
  };

  std::vector<std::string> symbols_;
  std::optional<Vocabulary> vocabulary_;
};

// Hands the sentences on to SentencePiece, in its own manner of iterating.
// An exception of the source waits here, as SentencePiece knows none.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  Sentences(const SentenceSource& source, const VocabularyOptions& options,
            TrainedVocabulary* result)
      : source_(source),
        max_bytes_(options.max_sentence_length),
        probe_(options),
        result_(*result) {
    Next();
  }

  bool done() const override { return done_; }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

  void Next() override {
    do {
      done_ = !Read();
    } while (!done_ && !Keep());
  }

  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  bool Read() {
    try {
      return source_(&value_);
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  bool Keep() {
    if (value_.empty()) return false;
    if (static_cast<int64_t>(value_.size()) > max_bytes_) {
      ++result_.num_too_long;
      return false;
    }
    for (const std::string_view word : kReserved) {
      if (value_.find(word) == std::string::npos) continue;
      ReplaceAll(word, " ", &value_);
      ++result_.num_reserved;
    }
    // Blank sentences do no harm beside one that is not.
    if (result_.num_sentences == 0 && !probe_.HasContent(value_)) return false;
    ++result_.num_sentences;
    return true;
  }

  const SentenceSource& source_;
  int64_t max_bytes_;
  ContentProbe probe_;
  TrainedVocabulary& result_;
  std::string value_;
  bool done_ = false;
  std::exception_ptr failure_;
};

// The number right after `words` in `text`, or -1.
int64_t NumberAfter(const std::string& text, std::string_view words) {
  const size_t at = text.find(words);
  int64_t number = -1;
  if (at == std::string::npos) return number;
  std::from_chars(text.data() + at + words.size(), text.data() + text.size(),
                  number);
  return number;
}

[[noreturn]] void ThrowTrainingFailed(const VocabularyOptions& options,
                                      const std::string& reason) {
  const std::string size = std::to_string(options.vocab_size);
  const int64_t largest = NumberAfter(reason, "set it to a value <= ");
  if (largest > 0) {
    ThrowBadData("the text allows no vocabulary of " + size +
                 " pieces; the largest possible is " + std::to_string(largest) +
                 ", give --vocab-size " + std::to_string(largest) +
                 " or more text");
  }
  const int64_t smallest =
      NumberAfter(reason, "required_chars. " + size + " vs ");
  if (smallest > 0) {
    ThrowBadData("a vocabulary of " + size +
                 " pieces cannot hold the characters of the text; the smallest "
                 "possible is " +
                 std::to_string(smallest) + ", give --vocab-size " +
                 std::to_string(smallest) +
                 " or more, or a lower --character-coverage");
  }
  ThrowBadData("SentencePiece cannot learn from this text: " + reason);
}

// A symbol that is also <s> would let text end or begin sentences.
void CheckOptions(const VocabularyOptions& options) {
  std::set<std::string> seen = {"<unk>", "<s>", "</s>"};
  if (options.pad_id >= 0) seen.insert("<pad>");
  for (const auto* symbols :
       {&options.user_defined_symbols, &options.control_symbols}) {
    for (const std::string& symbol : *symbols) {
      if (symbol.empty()) ThrowUsage("an empty symbol; give it a name");
      if (seen.insert(symbol).second) continue;
      ThrowUsage("the symbol '" + symbol +
                 "' is there already; leave it out or rename it");
    }
  }
}

void CheckNotEmpty(const VocabularyOptions& options,
                   const TrainedVocabulary& result) {
  if (result.num_sentences > 0) return;
  if (result.num_too_long == 0) {
    ThrowBadData("no text to learn from; the input is empty or blank");
  }
  const std::string count = std::to_string(result.num_too_long);
  ThrowBadData(count + " of " + count + " lines are longer than the limit of " +
               std::to_string(options.max_sentence_length) +
               " bytes; cut them or raise --max-sentence-length");
}

}  // namespace

TrainedVocabulary TrainVocabulary(const VocabularyOptions& options,
                                  const SentenceSource& source) {
  CheckOptions(options);
  TrainedVocabulary result;
  Sentences sentences(source, options, &result);
  sentences.Rethrow();
  if (sentences.done()) CheckNotEmpty(options, result);
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      Arguments(options), &sentences, &result.model);
  sentences.Rethrow();
  if (!status.ok()) ThrowTrainingFailed(options, status.ToString());
  return result;
}

}  // namespace pipeformer
