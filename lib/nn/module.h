// What PyTorch calls a module, by itself: one multi-head attention, one layer
// or both stacks, run on whole sequences under any mask, with or without
// gradients. The parts are those of the network; nothing here computes.
#ifndef PIPEFORMER_LIB_NN_MODULE_H_
#define PIPEFORMER_LIB_NN_MODULE_H_

#include <span>
#include <variant>

#include "lib/nn/attention.h"
#include "lib/nn/config.h"
#include "lib/nn/context.h"
#include "lib/nn/layers.h"
#include "lib/nn/parameter.h"
#include "lib/nn/transformer.h"

namespace pipeformer {

// kAttention     torch.nn.MultiheadAttention
// kEncoderLayer  torch.nn.TransformerEncoderLayer
// kDecoderLayer  torch.nn.TransformerDecoderLayer
// kTransformer   torch.nn.Transformer
enum class ModuleKind {
  kAttention,
  kEncoderLayer,
  kDecoderLayer,
  kTransformer
};

struct ModuleConfig {
  ModuleKind kind = ModuleKind::kAttention;
  AttentionConfig attention = {};  // of kAttention
  // Of the others; embeddings and the masks of a language model are no part
  // of a module, so vocabularies and decoder_mask are not looked at.
  TransformerConfig network = {};

  bool is_attention() const { return kind == ModuleKind::kAttention; }
  int64_t d_model() const {
    return is_attention() ? attention.d_model : network.d_model;
  }
  int64_t num_heads() const {
    return is_attention() ? attention.num_heads : network.num_heads;
  }
};

// The sequences that a module takes, by PyTorch's names:
//           kAttention  kEncoderLayer  kDecoderLayer  kTransformer
//   target  query                      tgt            tgt
//   source  key         src            memory         src
//   value   value
// Each is [rows, width], divided into sentences by the offsets of its side.
struct ModuleInput {
  Variable target, source, value;
  std::span<const int32_t> target_offsets;  // [sentences + 1]
  std::span<const int32_t> source_offsets;  // [sentences + 1], also of value
  // What each position sees, [sentences] or none.
  std::span<const SentenceMask> target_masks;  // targets see targets
  std::span<const SentenceMask> source_masks;  // sources see sources
  std::span<const SentenceMask> cross_masks;   // targets see sources
};

class Module {
 public:
  // Declares the parameters under PyTorch's names; they have no values yet.
  // Requires: num_heads divides d_model.
  explicit Module(const ModuleConfig& config);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const ModuleConfig& config() const { return config_; }
  ParameterTable& parameters() { return parameters_; }
  const ParameterTable& parameters() const { return parameters_; }

  // Gives [target rows, d_model]; of an encoder layer [source rows, d_model].
  Variable operator()(Context& context, const ModuleInput& input) const;

 private:
  using Part = std::variant<MultiHeadAttention, EncoderLayer, DecoderLayer,
                            TransformerStacks>;

  static Part MakePart(ParameterTable& table, const ModuleConfig& config);

  ModuleConfig config_;
  ParameterTable parameters_;
  Part part_;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_MODULE_H_
