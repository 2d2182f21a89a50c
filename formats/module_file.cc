#include "formats/module_file.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "formats/tensor_file.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

// The tensors of the file under a prefix, by the rest of their names.
class State {
 public:
  State(const TensorFile& file, const std::string& prefix)
      : file_(file), prefix_(prefix) {}

  // `file` or `file, prefix 'x'`, which begins every message.
  std::string Where() const {
    return file_.source_name() +
           (prefix_.empty() ? "" : ", prefix " + Quoted(prefix_));
  }

  [[noreturn]] void Refuse(const std::string& problem) const {
    ThrowBadData(Where() + ": " + problem);
  }

  const TensorView* Find(const std::string& name) const {
    return file_.collection().Find(prefix_ + name);
  }
  bool Has(const std::string& name) const { return Find(name) != nullptr; }

  // Dimension `d` of a matrix.
  int64_t MatrixSize(const std::string& name, size_t d) const {
    const TensorView* tensor = Find(name);
    if (tensor == nullptr) Refuse("tensor " + Quoted(name) + " is missing");
    if (tensor->shape.size() != 2 || tensor->NumElements() == 0) {
      Refuse("tensor " + Quoted(name) + " is " + ShapeText(tensor->shape) +
             ", wanted a matrix");
    }
    return tensor->shape[d];
  }

  template <class Visit>
  void ForEachName(Visit visit) const {
    for (const NamedTensor& t : file_.collection().tensors) {
      if (t.name.starts_with(prefix_)) visit(t.name.substr(prefix_.size()));
    }
  }

 private:
  const TensorFile& file_;
  const std::string& prefix_;
};

bool IsAttention(const State& state, const std::string& prefix = "") {
  return state.Has(prefix + "in_proj_weight") ||
         state.Has(prefix + "q_proj_weight");
}

// Where the file's attentions are, for whoever gave no prefix or a wrong one.
std::string WithAttentions(const TensorFile& file) {
  std::string text;
  int count = 0;
  for (const NamedTensor& t : file.collection().tensors) {
    for (const std::string end : {"in_proj_weight", "q_proj_weight"}) {
      if (!t.name.ends_with(end) || ++count > 3) continue;
      text += (text.empty() ? "" : ", ") +
              Quoted(t.name.substr(0, t.name.size() - end.size()));
    }
  }
  if (count > 3) text += ", ...";
  return text.empty() ? "the file has no attention at all"
                      : "it has attentions with --prefix " + text;
}

ModuleKind KindOf(const State& state, const TensorFile& file) {
  if (IsAttention(state)) return ModuleKind::kAttention;
  if (IsAttention(state, "self_attn.")) {
    return IsAttention(state, "multihead_attn.") ? ModuleKind::kDecoderLayer
                                                 : ModuleKind::kEncoderLayer;
  }
  if (IsAttention(state, "encoder.layers.0.self_attn.") &&
      IsAttention(state, "decoder.layers.0.self_attn.")) {
    return ModuleKind::kTransformer;
  }
  state.Refuse(
      "the tensors' names are not those of a torch.nn.MultiheadAttention, "
      "TransformerEncoderLayer, TransformerDecoderLayer or Transformer; " +
      WithAttentions(file));
}

// --- Configurations ---

AttentionConfig AttentionOf(const State& state, const ModuleFacts& facts) {
  AttentionConfig config{.bias = state.Has("in_proj_bias"),
                         .bias_kv = state.Has("bias_k"),
                         .zero_attention = facts.add_zero_attn.value_or(false)};
  if (state.Has("in_proj_weight")) {
    config.d_model = state.MatrixSize("in_proj_weight", 1);
  } else {
    config.d_model = state.MatrixSize("q_proj_weight", 1);
    config.key_dim = state.MatrixSize("k_proj_weight", 1);
    config.value_dim = state.MatrixSize("v_proj_weight", 1);
    if (config.same_widths()) {
      state.Refuse("q_proj_weight, k_proj_weight and v_proj_weight are all [" +
                   std::to_string(config.d_model) + ", " +
                   std::to_string(config.d_model) +
                   "]; PyTorch saves these as one in_proj_weight");
    }
  }
  return config;
}

int64_t CountLayers(const State& state, const std::string& stack) {
  int64_t count = 0;
  while (IsAttention(
      state, stack + ".layers." + std::to_string(count) + ".self_attn.")) {
    ++count;
  }
  return count;
}

TransformerConfig NetworkOf(const State& state, ModuleKind kind,
                            const TensorFile& file, const ModuleFacts& facts) {
  const bool stacks = kind == ModuleKind::kTransformer;
  const std::string layer = stacks ? "encoder.layers.0." : "";
  TransformerConfig config{
      .d_model = state.MatrixSize(layer + "self_attn.in_proj_weight", 1),
      .ffn_dim = state.MatrixSize(layer + "linear1.weight", 0),
      .activation = ActivationOf(file, facts),
      .norm =
          facts.norm_first.value_or(false) ? NormPlace::kPre : NormPlace::kPost,
      .final_norm = state.Has("encoder.norm.weight") ? FinalNorm::kAlways
                                                     : FinalNorm::kAuto,
      .dropout = 0};
  if (stacks) {
    config.encoder_layers = CountLayers(state, "encoder");
    config.decoder_layers = CountLayers(state, "decoder");
  }
  return config;
}

void CheckHeads(const State& state, const ModuleConfig& config) {
  const int64_t heads = config.num_heads();
  if (heads >= 1 && config.d_model() % heads == 0) return;
  state.Refuse("a width of " + std::to_string(config.d_model()) +
               " is not divisible by " + std::to_string(heads) + " heads");
}

// What was said of another kind of module would change nothing.
void CheckFacts(const State& state, ModuleKind kind, const ModuleFacts& given) {
  const bool attention = kind == ModuleKind::kAttention;
  if (attention && (given.activation || given.norm_first)) {
    ThrowUsage(state.Where() +
               ": holds a multi-head attention; --activation "
               "and --norm-first are of layers");
  }
  if (!attention && given.add_zero_attn) {
    ThrowUsage(state.Where() + ": holds a " + ModuleKindName(kind) +
               "; --add-zero-attn is of a multi-head attention");
  }
}

ModuleConfig ConfigOf(const State& state, const TensorFile& file,
                      const ModuleFacts& facts, float dropout) {
  ModuleConfig config{.kind = KindOf(state, file)};
  if (config.is_attention()) {
    config.attention = AttentionOf(state, facts);
    config.attention.dropout = dropout;
  } else {
    config.network = NetworkOf(state, config.kind, file, facts);
    config.network.attention_dropout = dropout;
  }
  if (!facts.num_heads) {
    ThrowUsage(state.Where() + ": holds a " + ModuleKindName(config.kind) +
               " of width " + std::to_string(config.d_model()) +
               ", but not its number of heads; give --num-heads N");
  }
  (config.is_attention() ? config.attention.num_heads
                         : config.network.num_heads) = *facts.num_heads;
  CheckHeads(state, config);
  return config;
}

// --- Values ---

// A shape that only a module of other sizes could have is refused here: the
// sizes come from a few of the tensors.
void CheckTensor(const State& state, const Parameter& p) {
  const TensorView* tensor = state.Find(p.name);
  if (tensor == nullptr) {
    state.Refuse("tensor " + Quoted(p.name) + " is missing");
  }
  if (tensor->shape != StateShape(p)) {
    state.Refuse("tensor " + Quoted(p.name) + " is " +
                 ShapeText(tensor->shape) + ", wanted " +
                 ShapeText(StateShape(p)));
  }
}

void CheckTensors(const State& state, const Module& module) {
  std::set<std::string> known;
  module.parameters().ForEachParameter([&](const Parameter& p) {
    CheckTensor(state, p);
    known.insert(p.name);
  });
  state.ForEachName([&](const std::string& name) {
    if (known.contains(name)) return;
    state.Refuse("a " + std::string(ModuleKindName(module.config().kind)) +
                 " has no tensor " + Quoted(name));
  });
}

}  // namespace

ModuleFile LoadModule(const std::string& path, const std::string& prefix,
                      const ModuleFacts& facts, float dropout) {
  const TensorFile file = TensorFile::Open(path);
  const State state(file, prefix);
  const ModuleFacts all = CompleteFacts(file, facts);
  ModuleFile loaded{
      .module = std::make_unique<Module>(ConfigOf(state, file, all, dropout)),
      .batch_first = all.batch_first.value_or(false)};
  CheckFacts(state, loaded.module->config().kind, facts);
  CheckTensors(state, *loaded.module);
  loaded.module->parameters().Allocate();
  loaded.module->parameters().ForEachParameter([&](Parameter& p) {
    const std::vector<float> values = ToFloats(
        *state.Find(p.name), state.Where() + ": tensor " + Quoted(p.name));
    for (const float v : values) {
      if (std::isfinite(v)) continue;
      state.Refuse("tensor " + Quoted(p.name) +
                   " has a weight that is not finite in single precision");
    }
    std::copy(values.begin(), values.end(), p.value.data);
  });
  return loaded;
}

std::vector<int64_t> StateShape(const Parameter& p) {
  if (p.rank == 1) return {p.cols};
  if (p.rank == 3) return {1, p.rows, p.cols};
  return {p.rows, p.cols};
}

const char* ModuleKindName(ModuleKind kind) {
  switch (kind) {
    case ModuleKind::kAttention:
      return "multi-head attention";
    case ModuleKind::kEncoderLayer:
      return "Transformer encoder layer";
    case ModuleKind::kDecoderLayer:
      return "Transformer decoder layer";
    case ModuleKind::kTransformer:
      break;
  }
  return "Transformer";
}

}  // namespace pipeformer
