// A vocabulary of subword pieces: text to ids and back. Wraps a SentencePiece
// model, whose bytes other SentencePiece programs read as they are. Where the
// model normalises (a stock one applies NFKC and folds spaces), the way back
// gives the normalised text.
#ifndef PIPEFORMER_LIB_TEXT_VOCABULARY_H_
#define PIPEFORMER_LIB_TEXT_VOCABULARY_H_

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/random.h"
#include "lib/text/sentence.h"

namespace pipeformer {

// All functions are const and may be called from any thread.
class Vocabulary {
 public:
  // From the bytes of a SentencePiece model; `name` is its file, for messages.
  // Throws Error (kBadData) when they are no such model.
  explicit Vocabulary(std::string model,
                      const std::string& name = "vocabulary");

  // Cuts `text` into pieces. No control id (<s>, </s>, <pad>) comes from text,
  // whatever is typed in it. Requires: `text` is UTF-8, shorter than 4 GiB.
  Sentence Encode(std::string_view text) const;

  // As Encode, with a cut chosen by chance: for a unigram model one drawn with
  // probability proportional to P(cut)^alpha, for a BPE model each merge left
  // out with probability `alpha`. The result depends on `random` (its key),
  // text and alpha alone. Requires: CanSample().
  // Source: Kudo 2018, section 3.2; Provilkov et al. 2020, section 3.
  Sentence SampleEncode(std::string_view text, double alpha,
                        Random random) const;

  // False for models of whole words or of characters: they have one cut.
  bool CanSample() const { return can_sample_; }

  // The text of `ids` or `pieces`; always valid UTF-8. Control pieces are
  // left out. An unknown id reads as `unk_surface`, by default the model's
  // own, " \u2047 "; a piece that is not in the vocabulary stands for itself.
  // A byte piece that completes no character reads as U+FFFD.
  // Throws Error (kBadData) on an id outside [0, size).
  std::string Decode(std::span<const int32_t> ids,
                     const std::optional<std::string>& unk_surface = {}) const;
  std::string Decode(const std::vector<std::string>& pieces,
                     const std::optional<std::string>& unk_surface = {}) const;

  // Ids run from 0 to size() - 1.
  int32_t size() const { return processor_->GetPieceSize(); }
  int32_t unk_id() const { return processor_->unk_id(); }
  // -1 where the model has none.
  int32_t bos_id() const { return processor_->bos_id(); }
  int32_t eos_id() const { return processor_->eos_id(); }
  int32_t pad_id() const { return processor_->pad_id(); }

  // Requires: 0 <= id < size().
  const std::string& PieceOf(int32_t id) const;
  float ScoreOf(int32_t id) const;
  bool IsControl(int32_t id) const;
  bool IsUnknown(int32_t id) const;
  bool IsByte(int32_t id) const;
  bool IsUnused(int32_t id) const;

  // The id of `piece`; unk_id() when it is not in the vocabulary.
  int32_t IdOf(std::string_view piece) const;

  // The bytes given to the constructor.
  const std::string& model() const { return model_; }

 private:
  void CheckId(int32_t id) const;
  std::string Join(const sentencepiece::ImmutableSentencePieceText& decoded,
                   const std::optional<std::string>& unk_surface) const;

  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  bool can_sample_ = false;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_TEXT_VOCABULARY_H_
