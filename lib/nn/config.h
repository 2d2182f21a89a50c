// What a network looks like: the numbers of Vaswani et al. 2017, table 3, and
// the variants people use.
#ifndef PIPEFORMER_LIB_NN_CONFIG_H_
#define PIPEFORMER_LIB_NN_CONFIG_H_

#include <cstdint>

#include "lib/ops/activation.h"

namespace pipeformer {

// kEncoderDecoder  figure 1 of the paper
// kLanguageModel   the decoder alone, without cross-attention: one sequence,
//                  each piece predicted from those before it
//                  (Liu et al. 2018, section 4.2.3; Radford et al. 2018)
enum class ModelType { kEncoderDecoder, kLanguageModel };

// What a language model was trained on, hence what it does with an input.
// kSentences  <s> text </s>: it continues a text
// kPairs      <s> source </s> target </s>: it gives the target of a source
enum class TrainedOn { kSentences, kPairs };

// kPost   LayerNorm(x + Sublayer(x))      the paper, section 3.1
// kPre    x + Sublayer(LayerNorm(x))      Xiong et al. 2020
enum class NormPlace { kPost, kPre };

// A normalisation after the last layer of each stack. kAuto: with kPre only,
// where nothing else normalises the result.
enum class FinalNorm { kAuto, kAlways };

// How a network knows the order of the pieces.
// kSinusoidal  sines and cosines added to the embeddings (the paper, 3.5)
// kLearned     a learned vector for each position added to the embeddings
//              (Gehring et al. 2017, section 3.1)
// kRelative    learned vectors for clipped distances in every self-attention
//              (Shaw et al. 2018)
// kRotary      queries and keys of every self-attention turned by angles that
//              grow with the position (Su et al. 2021)
// kAlibi       scores of every self-attention lowered in proportion to the
//              distance, by a slope for each head (Press et al. 2022); in the
//              encoder to both sides alike
enum class PositionKind { kSinusoidal, kLearned, kRelative, kRotary, kAlibi };

// kSqrt  scores divided by the root of the head's width (section 3.2.1)
// kNone  scores as they are: what the paper warns of
enum class AttentionScale { kSqrt, kNone };

// Which keys a query sees: all, or none after its own place.
enum class Mask { kNone, kCausal };

struct TransformerConfig {
  ModelType type = ModelType::kEncoderDecoder;
  TrainedOn trained_on = TrainedOn::kPairs;  // kSentences: kLanguageModel only
  int64_t d_model = 512;
  int64_t num_heads = 8;  // divides d_model
  int64_t ffn_dim = 2048;
  int64_t encoder_layers = 6;  // 0 for a language model
  int64_t decoder_layers = 6;
  Activation activation = Activation::kRelu;
  NormPlace norm = NormPlace::kPost;
  FinalNorm final_norm = FinalNorm::kAuto;
  PositionKind position = PositionKind::kSinusoidal;
  int64_t relative_clip = 16;  // largest distance told apart, kRelative only
  AttentionScale attention_scale = AttentionScale::kSqrt;
  int64_t attention_window = 0;  // self-attention sees so far; 0: everything
  Mask decoder_mask = Mask::kCausal;  // kNone lets the future leak in

  int64_t source_vocab = 0;
  int64_t target_vocab = 0;
  // One matrix for both embeddings and the output layer (section 3.4); the
  // vocabularies are then one.
  bool tied_embeddings = true;
  int64_t max_positions = 4096;  // longest sequence, in pieces

  // Training only; probabilities in [0, 1).
  float dropout = 0.1f;         // sublayer outputs and embeddings (5.4)
  float attention_dropout = 0;  // attention weights
  float ffn_dropout = 0;        // after the activation

  bool is_language_model() const { return type == ModelType::kLanguageModel; }
  int64_t head_dim() const { return d_model / num_heads; }
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_CONFIG_H_
