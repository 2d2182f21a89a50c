#include "lib/text/vocabulary.h"

#include <random>
#include <utility>

#include "lib/base/error.h"
#include "lib/base/utf8.h"

// SentencePiece draws its samples from one generator per thread and offers no
// way to seed it again, so a sample would depend on what the thread did
// before. The generator itself is exported by the library; seeding it before
// each sentence makes a sample a function of its own key.
namespace sentencepiece::random {
std::mt19937* GetRandomGenerator();
}  // namespace sentencepiece::random

namespace pipeformer {
namespace {

using sentencepiece::ImmutableSentencePieceText;

constexpr int kWholeLattice = -1;  // sample among all cuts, not the n best

[[noreturn]] void ThrowBadModel(const std::string& name,
                                const std::string& reason) {
  ThrowBadData(name + ": not a SentencePiece model (" + reason +
               "); make one with build-vocab, or check the name");
}

void CheckStatus(const sentencepiece::util::Status& status, const char* what) {
  if (status.ok()) return;
  ThrowBadData(std::string("cannot ") + what + ": " + status.ToString());
}

Sentence ToSentence(std::string_view text,
                    const ImmutableSentencePieceText& encoded) {
  Sentence sentence = {.text = std::string(text)};
  const size_t size = encoded.pieces_size();
  sentence.tokens.reserve(size);
  sentence.ids.reserve(size);
  sentence.offsets.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    const auto piece = encoded.pieces(static_cast<int>(i));
    sentence.tokens.push_back(piece.piece());
    sentence.ids.push_back(static_cast<int32_t>(piece.id()));
    sentence.offsets.push_back({piece.begin(), piece.end()});
  }
  return sentence;
}

}  // namespace

Vocabulary::Vocabulary(std::string model, const std::string& name)
    : model_(std::move(model)),
      processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  if (model_.empty()) ThrowBadModel(name, "it is empty");
  const auto status = processor_->LoadFromSerializedProto(model_);
  if (!status.ok()) ThrowBadModel(name, status.ToString());
  if (size() == 0) ThrowBadModel(name, "it has no pieces");
  ImmutableSentencePieceText probe;
  can_sample_ =
      processor_->SampleEncode("a", kWholeLattice, 0.0f, probe.mutable_proto())
          .ok();
}

Sentence Vocabulary::Encode(std::string_view text) const {
  ImmutableSentencePieceText encoded;
  CheckStatus(
      processor_->Encode({text.data(), text.size()}, encoded.mutable_proto()),
      "cut the text into pieces");
  return ToSentence(text, encoded);
}

Sentence Vocabulary::SampleEncode(std::string_view text, double alpha,
                                  Random random) const {
  Check(can_sample_, "this vocabulary has one cut for each text");
  sentencepiece::random::GetRandomGenerator()->seed(
      static_cast<std::mt19937::result_type>(random.Next()));
  ImmutableSentencePieceText encoded;
  CheckStatus(processor_->SampleEncode({text.data(), text.size()},
                                       kWholeLattice, static_cast<float>(alpha),
                                       encoded.mutable_proto()),
              "sample a cut of the text");
  return ToSentence(text, encoded);
}

std::string Vocabulary::Decode(
    std::span<const int32_t> ids,
    const std::optional<std::string>& unk_surface) const {
  for (const int32_t id : ids) {
    if (id >= 0 && id < size()) continue;
    ThrowBadData("id " + std::to_string(id) +
                 " is not in the vocabulary, whose ids are 0 to " +
                 std::to_string(size() - 1) +
                 "; use the vocabulary that made the ids");
  }
  ImmutableSentencePieceText decoded;
  CheckStatus(processor_->Decode(std::vector<int>(ids.begin(), ids.end()),
                                 decoded.mutable_proto()),
              "join the ids");
  return Join(decoded, unk_surface);
}

std::string Vocabulary::Decode(
    const std::vector<std::string>& pieces,
    const std::optional<std::string>& unk_surface) const {
  ImmutableSentencePieceText decoded;
  CheckStatus(processor_->Decode(pieces, decoded.mutable_proto()),
              "join the pieces");
  return Join(decoded, unk_surface);
}

std::string Vocabulary::Join(
    const ImmutableSentencePieceText& decoded,
    const std::optional<std::string>& unk_surface) const {
  std::string text = decoded.text();
  if (unk_surface) {
    const std::string& unk_piece = PieceOf(unk_id());
    text.clear();
    for (size_t i = 0; i < decoded.pieces_size(); ++i) {
      const auto piece = decoded.pieces(static_cast<int>(i));
      text += piece.piece() == unk_piece ? *unk_surface : piece.surface();
    }
  }
  if (FindInvalidUtf8(text) == std::string_view::npos) return text;
  return ReplaceInvalidUtf8(text);
}

void Vocabulary::CheckId(int32_t id) const {
  Check(id >= 0 && id < size(), "an id outside the vocabulary");
}

const std::string& Vocabulary::PieceOf(int32_t id) const {
  CheckId(id);
  return processor_->IdToPiece(id);
}

float Vocabulary::ScoreOf(int32_t id) const {
  CheckId(id);
  return processor_->GetScore(id);
}

bool Vocabulary::IsControl(int32_t id) const {
  CheckId(id);
  return processor_->IsControl(id);
}

bool Vocabulary::IsUnknown(int32_t id) const {
  CheckId(id);
  return processor_->IsUnknown(id);
}

bool Vocabulary::IsByte(int32_t id) const {
  CheckId(id);
  return processor_->IsByte(id);
}

bool Vocabulary::IsUnused(int32_t id) const {
  CheckId(id);
  return processor_->IsUnused(id);
}

int32_t Vocabulary::IdOf(std::string_view piece) const {
  return processor_->PieceToId({piece.data(), piece.size()});
}

}  // namespace pipeformer
