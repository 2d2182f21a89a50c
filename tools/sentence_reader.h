// From a line of decode's input to the sentence that is searched.
#ifndef PIPEFORMER_TOOLS_SENTENCE_READER_H_
#define PIPEFORMER_TOOLS_SENTENCE_READER_H_

#include <cstdint>
#include <string>

#include "formats/model_file.h"
#include "tools/decode_options.h"
#include "tools/translation.h"

namespace pipeformer {

class SentenceReader {
 public:
  // `max_length`: most pieces of a source to translate. Requires: model and
  // settings outlive this.
  SentenceReader(const Model& model, const DecodeSettings& settings,
                 int64_t max_length)
      : model_(model), settings_(settings), max_length_(max_length) {}

  // Reads line number `index` (from 0), which is not empty, as the settings
  // say: sets record, source, prefix, constraints and lengths. Throws Error
  // (65) beginning with `place` where it is no such record, or too long for the
  // model.
  void Read(const std::string& text, const std::string& place, uint64_t index,
            SentenceToTranslate& sentence) const;

 private:
  void ReadRecord(const std::string& text, const std::string& place,
                  uint64_t index, SentenceToTranslate& sentence) const;
  void ReadFields(const std::string& text, const std::string& place,
                  SentenceToTranslate& sentence) const;
  void Constrain(const Json& words, const std::string& place,
                 SentenceToTranslate& sentence) const;
  void CheckLength(int64_t length, const std::string& place) const;
  void CheckRoom(const SentenceToTranslate& sentence,
                 const std::string& place) const;
  bool continues() const {
    return model_.network->config().trained_on == TrainedOn::kSentences;
  }

  const Model& model_;
  const DecodeSettings& settings_;
  int64_t max_length_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_TOOLS_SENTENCE_READER_H_
