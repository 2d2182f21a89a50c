#include "tools/module_run.h"

#include <utility>

#include "formats/module_file.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "tools/module_call.h"
#include "tools/module_record.h"
#include "tools/support/frame_pipeline.h"
#include "tools/support/pipeline.h"

namespace pipeformer {
namespace {

ModuleFacts FactsOf(const ModuleSettings& settings) {
  const auto given = [](bool flag) {
    return flag ? std::optional(true) : std::nullopt;
  };
  ModuleFacts facts{.num_heads = settings.num_heads,
                    .add_zero_attn = given(settings.add_zero_attn),
                    .norm_first = given(settings.norm_first),
                    .batch_first = given(settings.batch_first)};
  if (!settings.activation.empty()) facts.activation = settings.activation;
  return facts;
}

NeedWeights NeedWeightsNamed(const std::string& name) {
  if (name == "heads") return NeedWeights::kHeads;
  return name == "none" ? NeedWeights::kNone : NeedWeights::kAverage;
}

// Answers records, from several threads at once.
class Runner {
 public:
  Runner(const ModuleSettings& settings, uint64_t seed, ModuleOutput output)
      : file_(LoadModule(settings.path, settings.prefix, FactsOf(settings),
                         static_cast<float>(settings.dropout))),
        call_{.batch_axis =
                  file_.batch_first ? BatchAxis::kFirst : BatchAxis::kSecond,
              .is_causal = settings.is_causal,
              .gradients = settings.gradients,
              .need_weights = NeedWeightsNamed(settings.need_weights)},
        random_(seed),
        drops_(settings.dropout > 0),
        output_(output) {
    if (call_.need_weights == NeedWeights::kHeads &&
        !file_.module->config().is_attention()) {
      ThrowUsage("--need-weights heads is of a multi-head attention; " +
                 settings.path + " holds a " +
                 ModuleKindName(file_.module->config().kind));
    }
  }

  RecordResult OfLine(const InputRecord& input) const {
    if (input.line.text.empty() && input.line.error.empty()) {
      return {.bytes = FormatBlank(input.index, output_)};
    }
    const std::string place = input.Place();
    return Answer(place, input.index, input.line.number,
                  [&](ModuleRecord& record) {
                    if (!input.line.error.empty())
                      ThrowBadData(input.line.error);
                    ReadLine(input.line.text, place, input.index, record);
                  });
  }

  RecordResult OfFrame(const InputFrame& input) const {
    return Answer(input.place, input.index,
                  static_cast<int64_t>(input.index) + 1,
                  [&](ModuleRecord& record) {
                    if (!input.frame) ThrowBadData(input.problem);
                    ReadFrame(*input.frame, input.place, record);
                  });
  }

 private:
  // Dropout depends on the record's number, not on the threads.
  template <class Read>
  RecordResult Answer(const std::string& place, uint64_t index, int64_t line,
                      Read read) const {
    ModuleRecord record;
    record.rest["id"] = index;
    try {
      read(record);
      const Random random = random_.Fork(index);
      const auto results = CallModule(*file_.module, call_, record.tensors,
                                      drops_ ? &random : nullptr);
      return {.bytes = FormatResults(record, results, output_)};
    } catch (const Error& error) {
      std::string problem = error.what();
      if (!problem.starts_with(place)) problem = place + ": " + problem;
      return {.bytes = FormatProblem(record, problem, line, output_),
              .problem = problem};
    }
  }

  ModuleFile file_;
  ModuleCall call_;
  Random random_;
  bool drops_;
  ModuleOutput output_;
};

void CheckFormat(const char* option, const std::string& format) {
  if (format == "tensors" || format == "jsonl") return;
  ThrowUsage(std::string(option) + " is '" + format +
             "'; with --module it is tensors or jsonl");
}

}  // namespace

std::vector<Option> ModuleOptions(ModuleSettings& settings) {
  return {
      {.name = "module",
       .value = "FILE",
       .help = "tensors of a state dictionary, as PyTorch's modules save them",
       .target = &settings.path},
      {.name = "prefix",
       .value = "NAME",
       .help = "which part of the file is the module: what its tensors' names "
               "begin with, up to the dot; also of a model from train",
       .target = &settings.prefix},
      {.name = "num-heads",
       .value = "N",
       .help = "heads of each attention, where the file does not say",
       .target = &settings.num_heads,
       .min = 1,
       .max = 1e9},
      {.name = "add-zero-attn",
       .value = "",
       .help = "one more key and value, of zeros, for every query",
       .target = &settings.add_zero_attn},
      {.name = "activation",
       .value = "relu|gelu|swish",
       .help = "of a layer (relu)",
       .target = &settings.activation},
      {.name = "norm-first",
       .value = "",
       .help = "a layer normalises before its sublayers, not after them",
       .target = &settings.norm_first},
      {.name = "batch-first",
       .value = "",
       .help = "sequences are [N, L, E], not [L, N, E]",
       .target = &settings.batch_first},
      {.name = "is-causal",
       .value = "",
       .help = "no query sees a key after its own place",
       .target = &settings.is_causal},
      {.name = "need-weights",
       .value = "average|heads|none",
       .help = "the weights of an attention: averaged over its heads, of each "
               "head, or not at all",
       .target = &settings.need_weights},
      {.name = "gradients",
       .value = "",
       .help = "for the grad_output of each record, also the gradients of its "
               "tensors and of the parameters",
       .target = &settings.gradients},
      {.name = "dropout",
       .value = "P",
       .help = "of the attention weights, as in training; chance from --seed",
       .target = &settings.dropout,
       .min = 0,
       .max = 0.999},
  };
}

void RunModule(Tool& tool, const ModuleSettings& settings,
               const std::string& from, const std::string& to) {
  const std::string input = from.empty() ? "tensors" : from;
  const std::string output = to.empty() ? input : to;
  CheckFormat("--from", input);
  CheckFormat("--to", output);
  const Runner runner(
      settings, tool.options().seed,
      output == "jsonl" ? ModuleOutput::kJson : ModuleOutput::kTensors);
  if (input == "jsonl") {
    FilterLines(tool, [&](const InputRecord& r) { return runner.OfLine(r); });
  } else {
    FilterFrames(tool, [&](const InputFrame& f) { return runner.OfFrame(f); });
  }
}

}  // namespace pipeformer
