// What tokenize does to each record: text to pieces and ids, or back.
#ifndef PIPEFORMER_TOOLS_TOKENIZE_RECORDS_H_
#define PIPEFORMER_TOOLS_TOKENIZE_RECORDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/records.h"
#include "lib/base/random.h"
#include "lib/text/vocabulary.h"
#include "tools/support/pipeline.h"
#include "tools/support/tool.h"

namespace pipeformer {

// The program's own options.
struct TokenizeSettings {
  std::vector<std::string> vocabularies;  // one, or source and target
  std::optional<std::string> from;        // text, tsv, jsonl, ids
  std::optional<std::string> to;          // jsonl, text, ids, tensors
  bool detokenize = false;
  std::optional<double> sample;
  std::optional<int64_t> max_length;
  std::optional<std::string> unk_surface;
};

class Tokenizer {
 public:
  // Loads the vocabularies. `settings` must outlive this.
  // Throws Error: kUsage where options do not go together, and as OpenInput
  // and Vocabulary.
  Tokenizer(const TokenizeSettings& settings, const Tool& tool);

  // The result for one line. A record that is bad comes out as an error
  // record, or a blank line, with the problem beside it. Any thread.
  RecordResult Process(const InputRecord& record) const;

  // True when results are not text but records for a CorpusPacker.
  bool packs() const { return to_ == "tensors"; }

  // SHA-256 of each vocabulary.
  std::vector<std::string> VocabularyHashes() const;

 private:
  // One record on its way: a sentence, or the two of a pair; no side at all
  // for an error record of the program before. `json` is the object it was
  // read from, so that other keys come through.
  struct Item {
    Json json = Json::object();
    bool blank = false;  // an empty line, which gives an empty line
    bool is_pair = false;
    std::vector<Sentence> sides = {};
  };

  void CheckCombination() const;
  const Vocabulary& VocabularyOf(size_t side) const;
  void Read(const std::string& text, const std::string& place,
            Item* item) const;
  void ReadJson(const std::string& text, const std::string& place,
                Item* item) const;
  Sentence ReadSide(const Json& json, const std::string& place) const;
  void Convert(const InputRecord& record, Item* item) const;
  Sentence Encode(const std::string& text, size_t side, uint64_t index) const;
  std::string Decode(const Sentence& sentence, size_t side) const;
  std::string Write(Item item, uint64_t index) const;
  std::string WriteLine(const Item& item) const;
  RecordResult Bad(const InputRecord& record, const Json& id,
                   const std::string& message) const;

  const TokenizeSettings& settings_;
  std::string from_;
  std::string to_;
  Random random_;
  std::vector<std::unique_ptr<Vocabulary>> vocabularies_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_TOKENIZE_RECORDS_H_
