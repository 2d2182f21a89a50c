// The configuration of a network as JSON, in model files.
#ifndef PIPEFORMER_FORMATS_MODEL_CONFIG_H_
#define PIPEFORMER_FORMATS_MODEL_CONFIG_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "lib/nn/config.h"

namespace pipeformer {

// The words for the values of an enumeration, in model files and in options.
template <class Enum>
using EnumNames = std::initializer_list<std::pair<const char*, Enum>>;

inline constexpr EnumNames<ModelType> kModelTypeNames = {
    {"transformer", ModelType::kEncoderDecoder},
    {"transformer-lm", ModelType::kLanguageModel}};
inline constexpr EnumNames<TrainedOn> kTrainedOnNames = {
    {"pairs", TrainedOn::kPairs}, {"sentences", TrainedOn::kSentences}};
inline constexpr EnumNames<PositionKind> kPositionNames = {
    {"sinusoidal", PositionKind::kSinusoidal},
    {"learned", PositionKind::kLearned},
    {"relative", PositionKind::kRelative},
    {"rotary", PositionKind::kRotary},
    {"alibi", PositionKind::kAlibi}};
inline constexpr EnumNames<AttentionScale> kScaleNames = {
    {"sqrt", AttentionScale::kSqrt}, {"none", AttentionScale::kNone}};
inline constexpr EnumNames<Mask> kMaskNames = {{"causal", Mask::kCausal},
                                               {"none", Mask::kNone}};
inline constexpr EnumNames<Activation> kActivationNames = {
    {"relu", Activation::kRelu},
    {"gelu", Activation::kGelu},
    {"swish", Activation::kSwish}};
inline constexpr EnumNames<NormPlace> kNormNames = {{"post", NormPlace::kPost},
                                                    {"pre", NormPlace::kPre}};
inline constexpr EnumNames<FinalNorm> kFinalNormNames = {
    {"auto", FinalNorm::kAuto}, {"always", FinalNorm::kAlways}};

// One object; README.md of this folder lists its keys.
std::string ConfigToJson(const TransformerConfig& config);

// The reverse. Throws Error (65) beginning with `source_name` when a key is
// missing, unknown or has a value that no network can have.
TransformerConfig ConfigFromJson(const std::string& json,
                                 const std::string& source_name);

// The first key in which two configurations differ, and its values:
// `position "alibi", now "rotary"`; empty where they are equal.
std::string ConfigDifference(const TransformerConfig& before,
                             const TransformerConfig& now);

// Throws Error (65) beginning with `source_name` unless a network of this
// configuration can be built: sizes positive, heads dividing d_model.
void CheckConfig(const TransformerConfig& config,
                 const std::string& source_name);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_MODEL_CONFIG_H_
