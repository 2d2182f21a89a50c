#include "tools/module_call.h"

#include <algorithm>
#include <utility>

#include "formats/module_file.h"
#include "lib/base/error.h"
#include "tools/module_masks.h"
#include "tools/module_signature.h"

namespace pipeformer {
namespace {

// Keeps the weights of a module's one attention: [sentences, heads, queries,
// keys], or without the heads their average.
class WeightsProbe : public AttentionProbe {
 public:
  WeightsProbe(int64_t num_heads, NeedWeights need)
      : num_heads_(num_heads), need_(need) {}

  void See(AttentionKind, int, std::span<AttentionGroup> groups) final {
    for (const AttentionGroup& g : groups) Append(g);
    num_keys_ = groups[0].num_keys;
  }

  const std::vector<float>& values() const { return values_; }
  int64_t num_keys() const { return num_keys_; }

 private:
  void Append(const AttentionGroup& g) {
    const int64_t padded = PaddedKeys(g.num_keys);
    const bool average = need_ == NeedWeights::kAverage;
    const float share = average ? 1 / static_cast<float>(num_heads_) : 1;
    const size_t first = values_.size();
    values_.resize(first + static_cast<size_t>((average ? 1 : num_heads_) *
                                               g.num_queries * g.num_keys));
    for (int64_t row = 0; row < num_heads_ * g.num_queries; ++row) {
      const int64_t to_row = average ? row % g.num_queries : row;
      float* to =
          values_.data() + first + static_cast<size_t>(to_row * g.num_keys);
      for (int64_t k = 0; k < g.num_keys; ++k) {
        to[k] += share * g.weights[row * padded + k];
      }
    }
  }

  int64_t num_heads_;
  NeedWeights need_;
  int64_t num_keys_ = 0;
  std::vector<float> values_;
};

class Caller {
 public:
  Caller(const Module& module, const ModuleCall& call,
         const TensorCollection& record, const Random* random)
      : module_(module),
        config_(module.config()),
        signature_(SignatureOf(config_.kind)),
        call_(call),
        record_(record),
        layout_(call.batch_axis),
        masks_(record, config_),
        probe_(config_.num_heads(), call.need_weights) {
    context_.random = random;
    if (config_.is_attention() && call.need_weights != NeedWeights::kNone) {
      context_.probe = &probe_;
    }
    if (!call.gradients) return;
    gradients_.resize(static_cast<size_t>(module.parameters().size()));
    context_.tape = &tape_;
    context_.gradients = gradients_.data();
  }

  std::vector<NamedResult> Run() {
    CheckNames();
    for (const SequenceArgument& a : signature_.sequences) ReadSequence(a);
    for (const MaskArguments& a : signature_.masks) ReadMasks(a);
    if (call_.gradients) masks_.WantGradients();
    const std::vector<int32_t> targets = layout_.Offsets(Side::kTarget);
    const std::vector<int32_t> sources = layout_.Offsets(Side::kSource);
    input_.target_offsets = targets;
    input_.source_offsets = sources;
    const Variable output = module_(context_, input_);
    Give("output", layout_.FromRows(output_side(), output.value));
    if (context_.probe != nullptr) GiveWeights();
    if (call_.gradients) {
      RunBackward(output);
      GiveGradients();
    }
    return std::move(results_);
  }

 private:
  // The output has the shape of the first sequence.
  Side output_side() const { return signature_.sequences[0].side; }

  void Give(std::string name, OwnedTensor tensor) {
    results_.push_back({std::move(name), std::move(tensor)});
  }

  void CheckNames() const {
    for (const NamedTensor& t : record_.tensors) {
      if (TakesTensor(config_.kind, t.name)) continue;
      ThrowBadData("a " + std::string(ModuleKindName(config_.kind)) +
                   " takes no tensor " + Quoted(t.name) + "; it takes " +
                   TensorNames(config_.kind));
    }
  }

  const TensorView& Find(const std::string& name) const {
    const TensorView* tensor = record_.Find(name);
    if (tensor == nullptr) {
      ThrowBadData("tensor " + Quoted(name) + " is missing");
    }
    return *tensor;
  }

  // Each argument is a leaf of its own, also where values are taken twice.
  void ReadSequence(const SequenceArgument& argument) {
    std::string name = argument.name;
    for (const char* otherwise : argument.otherwise) {
      if (record_.Find(name) == nullptr) name = otherwise;
    }
    const TensorView& tensor = Find(name);
    if (&argument == &signature_.sequences[0] && tensor.shape.size() == 2) {
      layout_.LeaveOutBatch();
    }
    input_.*argument.place =
        Fill(tensor, name, argument.side, WidthOf(argument, config_));
  }

  // The rows of `tensor`, once it fits.
  Variable Fill(const TensorView& tensor, const std::string& name, Side side,
                int64_t width) {
    Dimension columns{"E", width};
    FitShape(name, tensor.shape, layout_.OfSequence(side, columns));
    const Variable x =
        context_.New(layout_.sentences() * layout_.length(side).size, width);
    layout_.ToRows(side, ToFloats(tensor, name), x.value);
    return x;
  }

  void ReadMasks(const MaskArguments& argument) {
    const bool causal =
        call_.is_causal && argument.order == MaskArguments::Order::kMayBeCausal;
    masks_.Read(argument,
                causal ? ModuleMasks::Causal::kYes : ModuleMasks::Causal::kNo,
                layout_, input_);
  }

  void GiveWeights() {
    std::vector<int64_t> shape;
    if (layout_.batched()) shape.push_back(layout_.sentences());
    if (call_.need_weights == NeedWeights::kHeads) {
      shape.push_back(config_.num_heads());
    }
    shape.push_back(layout_.length(Side::kTarget).size);
    shape.push_back(probe_.num_keys());
    Give("weights", FloatTensor(std::move(shape), probe_.values()));
  }

  void RunBackward(Variable output) {
    const Variable d =
        Fill(Find(kGradOutput), kGradOutput, output_side(), config_.d_model());
    std::copy_n(d.value.data, d.value.size(), output.grad.data);
    *output.has_grad = true;
    tape_.Backward();
  }

  void GiveGradients() {
    for (const SequenceArgument& a : signature_.sequences) {
      const Variable& x = input_.*a.place;
      x.CompleteGrad();
      Give("grad_" + std::string(a.name), layout_.FromRows(a.side, x.grad));
    }
    masks_.ForEachGradient([&](const char* name, OwnedTensor d_mask) {
      Give("grad_" + std::string(name), std::move(d_mask));
    });
    module_.parameters().ForEachParameter([&](const Parameter& p) {
      const float* d = gradients_.data() + p.offset;
      Give("grad_" + p.name,
           FloatTensor(StateShape(p), {d, static_cast<size_t>(p.size())}));
    });
  }

  const Module& module_;
  const ModuleConfig& config_;
  const ModuleSignature& signature_;
  const ModuleCall& call_;
  const TensorCollection& record_;

  ModuleLayout layout_;
  ModuleMasks masks_;
  ModuleInput input_;
  Arena arena_;
  Tape tape_;
  std::vector<float> gradients_;
  WeightsProbe probe_;
  Context context_{.arena = arena_};
  std::vector<NamedResult> results_;
};

}  // namespace

std::vector<NamedResult> CallModule(const Module& module,
                                    const ModuleCall& call,
                                    const TensorCollection& record,
                                    const Random* random) {
  return Caller(module, call, record, random).Run();
}

}  // namespace pipeformer
