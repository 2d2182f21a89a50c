// What a network looks like: the numbers of Vaswani et al. 2017, table 3, and
// the variants people use.
#ifndef PIPEFORMER_LIB_NN_CONFIG_H_
#define PIPEFORMER_LIB_NN_CONFIG_H_

#include <cstdint>

#include "lib/ops/activation.h"

namespace pipeformer {

// kPost   LayerNorm(x + Sublayer(x))      the paper, section 3.1
// kPre    x + Sublayer(LayerNorm(x))      Xiong et al. 2020
enum class NormPlace { kPost, kPre };

// A normalisation after the last layer of each stack. kAuto: with kPre only,
// where nothing else normalises the result.
enum class FinalNorm { kAuto, kAlways };

struct TransformerConfig {
  int64_t d_model = 512;
  int64_t num_heads = 8;  // divides d_model
  int64_t ffn_dim = 2048;
  int64_t encoder_layers = 6;
  int64_t decoder_layers = 6;
  Activation activation = Activation::kRelu;
  NormPlace norm = NormPlace::kPost;
  FinalNorm final_norm = FinalNorm::kAuto;

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
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_CONFIG_H_
