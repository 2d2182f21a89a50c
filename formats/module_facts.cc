#include "formats/module_facts.h"

#include <utility>

#include "formats/model_config.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

// The metadata under `key`, or null.
const std::string* Find(const TensorFile& file, const char* key) {
  const auto& metadata = file.collection().metadata;
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

void TakeFlag(const TensorFile& file, const char* key,
              std::optional<bool>& fact) {
  const std::string* text = Find(file, key);
  if (fact || text == nullptr) return;
  if (*text != "true" && *text != "false") {
    ThrowBadData(file.source_name() + ": metadata `" + key + "` is " +
                 Quoted(*text) + ", wanted true or false");
  }
  fact = *text == "true";
}

// Digits only, and few: nobody has a billion heads.
void TakeNumHeads(const TensorFile& file, std::optional<int64_t>& fact) {
  const std::string* text = Find(file, "num_heads");
  if (fact || text == nullptr) return;
  if (text->empty() || text->size() > 9 ||
      text->find_first_not_of("0123456789") != std::string::npos) {
    ThrowBadData(file.source_name() + ": metadata `num_heads` is " +
                 Quoted(*text) + ", wanted a number");
  }
  fact = std::stoll(*text);
}

// A model of ours says in its configuration what PyTorch leaves unsaid.
void TakeFromModel(const TensorFile& file, ModuleFacts& facts) {
  const std::string* format = Find(file, "format");
  if (format == nullptr || *format != "pipeformer-model") return;
  const TransformerConfig model =
      ConfigFromJson(file.Metadata("config"), file.source_name());
  if (model.position == PositionKind::kRelative ||
      model.position == PositionKind::kRotary ||
      model.position == PositionKind::kAlibi || model.attention_window > 0 ||
      model.attention_scale == AttentionScale::kNone) {
    ThrowBadData(file.source_name() +
                 ": the attention of this model has positions, a window or a "
                 "scale of its own, which PyTorch's modules do not have");
  }
  if (!facts.num_heads) facts.num_heads = model.num_heads;
  if (!facts.norm_first) facts.norm_first = model.norm == NormPlace::kPre;
  for (const auto& [name, activation] : kActivationNames) {
    if (!facts.activation && activation == model.activation) {
      facts.activation = name;
    }
  }
}

}  // namespace

ModuleFacts CompleteFacts(const TensorFile& file, ModuleFacts facts) {
  TakeFromModel(file, facts);
  TakeNumHeads(file, facts.num_heads);
  TakeFlag(file, "add_zero_attn", facts.add_zero_attn);
  TakeFlag(file, "norm_first", facts.norm_first);
  TakeFlag(file, "batch_first", facts.batch_first);
  const std::string* activation = Find(file, "activation");
  if (!facts.activation && activation != nullptr) {
    facts.activation = *activation;
  }
  return facts;
}

Activation ActivationOf(const TensorFile& file, const ModuleFacts& facts) {
  const std::string name = facts.activation.value_or("relu");
  for (const auto& [known, activation] : kActivationNames) {
    if (name == known) return activation;
  }
  ThrowBadData(file.source_name() + ": the activation is " + Quoted(name) +
               ", known are relu, gelu, swish");
}

}  // namespace pipeformer
