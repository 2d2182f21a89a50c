#include "tools/train_options.h"

#include <charconv>
#include <map>

#include "formats/model_config.h"
#include "lib/base/error.h"
#include "tools/train_course_options.h"
#include "tools/train_pair_options.h"

namespace pipeformer {
namespace {

template <class Enum>
std::function<void(const std::string&)> Choice(Enum& target,
                                               EnumNames<Enum> names) {
  return [&target, values = std::map<std::string, Enum>(
                       names.begin(), names.end())](const std::string& text) {
    target = values.at(text);  // the option table refuses other words
  };
}

std::function<void(const std::string&)> Number(const std::string& option,
                                               float& target, double below) {
  return [=, &target](const std::string& text) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() ||
        !(value >= 0 && value < below)) {
      ThrowUsage("--" + option + " is '" + text +
                 "', it must be a number in [0, " +
                 std::to_string(static_cast<int>(below)) + ")");
    }
    target = static_cast<float>(value);
  };
}

std::vector<Option> DataOptions(TrainSettings& s) {
  return {
      {.name = "train-sets",
       .value = "FILE...",
       .help = "pairs to train on; several files are one corpus; with --from "
               "text, the source file and the target file, for a language "
               "model its sentences",
       .target = &s.train_sets},
      {.name = "valid-sets",
       .value = "FILE...",
       .help = "pairs to validate on, in the same format",
       .target = &s.valid_sets},
      {.name = "from",
       .value = "tsv|jsonl|tensors|text",
       .help = "format of the pairs",
       .target = &s.from},
      {.name = "lm-data",
       .value = "sentences|pairs",
       .help = "what a language model learns: sentences to continue (the "
               "default with --from text), or targets that follow sources",
       .target = &s.lm_data},
      {.name = "vocabs",
       .value = "V [V]",
       .help = "vocabularies from build-vocab: one joint, or source and target",
       .target = &s.vocabs,
       .required = true},
      {.name = "model",
       .value = "FILE",
       .help = "the model to write; FILE.state holds what resuming needs",
       .target = &s.model,
       .required = true},
      {.name = "init-model",
       .value = "FILE",
       .help = "begin with the weights of this model",
       .target = &s.init_model},
      {.name = "restart",
       .value = "",
       .help = "begin anew where a state to resume from exists, which is "
               "removed",
       .target = &s.restart},
      {.name = "max-length",
       .value = "N",
       .help = "leave out pairs with more pieces on either side",
       .target = &s.max_length,
       .min = 1,
       .max = 4000},
      {.name = "sentencepiece-alphas",
       .value = "A [A]",
       .help = "cut the text into pieces anew each epoch, by chance: for a bpe "
               "vocabulary the share of merges left out (0.1), for a unigram "
               "one the exponent of Kudo 2018; a second number for the target",
       .target = &s.sentencepiece_alphas},
  };
}

std::vector<Option> NetworkOptions(TrainSettings& s) {
  TransformerConfig& n = s.network;
  return {
      {.name = "task",
       .value = "transformer-tiny|transformer-small|transformer-base|"
                "transformer-big",
       .help = "a preset of sizes, dropout and learning rate, which the "
               "options below override",
       .target = &s.task},
      {.name = "type",
       .value = "transformer|transformer-lm",
       .help = "an encoder and a decoder, or a language model: the decoder "
               "alone (transformer)",
       .target = Choice(n.type, kModelTypeNames)},
      {.name = "dim-emb",
       .value = "N",
       .help = "d_model, the width of the network",
       .target = &n.d_model,
       .min = 1,
       .max = 65536},
      {.name = "transformer-heads",
       .value = "N",
       .help = "attention heads; must divide --dim-emb",
       .target = &n.num_heads,
       .min = 1,
       .max = 1024},
      {.name = "transformer-dim-ffn",
       .value = "N",
       .help = "inner width of the feed-forward layers",
       .target = &n.ffn_dim,
       .min = 1,
       .max = 1 << 20},
      {.name = "enc-depth",
       .value = "N",
       .help = "encoder layers; a language model has none",
       .target = &n.encoder_layers,
       .min = 1,
       .max = 1000},
      {.name = "dec-depth",
       .value = "N",
       .help = "decoder layers",
       .target = &n.decoder_layers,
       .min = 1,
       .max = 1000},
  };
}

std::vector<Option> VariantOptions(TrainSettings& s) {
  TransformerConfig& n = s.network;
  return {
      {.name = "transformer-ffn-activation",
       .value = "relu|gelu|swish",
       .help = "non-linearity of the feed-forward layers (relu)",
       .target = Choice(n.activation, kActivationNames)},
      {.name = "norm",
       .value = "post|pre",
       .help = "layer normalisation after or before each sublayer (post)",
       .target = Choice(n.norm, kNormNames)},
      {.name = "position",
       .value = "sinusoidal|learned|relative|rotary|alibi",
       .help = "how the network knows the order of the pieces (sinusoidal)",
       .target = Choice(n.position, kPositionNames)},
      {.name = "relative-clip",
       .value = "K",
       .help = "with --position relative, distances beyond K count as K (16)",
       .target = &s.relative_clip,
       .min = 1,
       .max = 4096},
      {.name = "max-positions",
       .value = "N",
       .help = "the longest sequence the model can take, in pieces (4096; with "
               "--position learned, which has a vector for each, 512, of a "
               "language model 1024)",
       .target = &s.max_positions,
       .min = 2,
       .max = 1 << 20},
      {.name = "attention-scale",
       .value = "sqrt|none",
       .help = "divide scores by the root of the head's width, or not (sqrt)",
       .target = Choice(n.attention_scale, kScaleNames)},
      {.name = "attention-window",
       .value = "N",
       .help = "self-attention sees pieces at most N away, 0 all",
       .target = &n.attention_window,
       .min = 0,
       .max = 1 << 20},
      {.name = "decoder-mask",
       .value = "causal|none",
       .help = "none lets a target position see the pieces it is to predict: "
               "to see why it must not (causal)",
       .target = Choice(n.decoder_mask, kMaskNames)},
      {.name = "tied-embeddings-all",
       .value = "true|false",
       .help = "one matrix for both embeddings and the output layer (true "
               "with a joint vocabulary)",
       .target =
           [&s](const std::string& text) {
             s.tied_embeddings = text == "true";
           }},
      {.name = "transformer-dropout",
       .value = "P",
       .help = "dropout of sublayers and embeddings",
       .target = Number("transformer-dropout", n.dropout, 1)},
      {.name = "transformer-dropout-attention",
       .value = "P",
       .help = "dropout of attention weights (0)",
       .target =
           Number("transformer-dropout-attention", n.attention_dropout, 1)},
      {.name = "transformer-dropout-ffn",
       .value = "P",
       .help = "dropout inside the feed-forward layers (0)",
       .target = Number("transformer-dropout-ffn", n.ffn_dropout, 1)},
  };
}

std::vector<Option> OptimiserOptions(TrainSettings& s) {
  return {
      {.name = "lm-loss",
       .value = "target|both",
       .help = "what the loss of a language model of pairs counts: the target, "
               "or the source too (target)",
       .target = Choice<Predict>(
           s.trainer.predict,
           {{"target", Predict::kTarget}, {"both", Predict::kBoth}})},
      {.name = "label-smoothing",
       .value = "P",
       .help = "label smoothing (0.1)",
       .target = Number("label-smoothing", s.trainer.label_smoothing, 1)},
      {.name = "learn-rate",
       .value = "R",
       .help = "peak learning rate",
       .target = &s.schedule.learning_rate,
       .min = 1e-12,
       .max = 100},
      {.name = "lr-warmup",
       .value = "N",
       .help = "updates until the peak",
       .target = &s.schedule.warmup_updates,
       .min = 0},
      {.name = "lr-schedule",
       .value = "inverse-sqrt|noam|cosine|linear|constant",
       .help = "what follows the warm-up (inverse-sqrt)",
       .target = Choice<ScheduleKind>(s.schedule.kind, kScheduleNames)},
      {.name = "optimizer-params",
       .value = "B1 B2 EPS",
       .help = "Adam's beta1, beta2 and epsilon (0.9 0.98 1e-9)",
       .target = &s.adam},
      {.name = "clip-norm",
       .value = "X",
       .help = "largest gradient norm, 0 for no limit",
       .target = &s.trainer.clip_norm,
       .min = 0},
      {.name = "exponential-smoothing",
       .value = "A",
       .help = "average the weights, each update counting A, for example "
               "1e-3; the averages are what is validated and saved (0: off)",
       .target = Number("exponential-smoothing", s.exponential_smoothing, 1)},
      {.name = "mini-batch-words",
       .value = "N",
       .help = "pieces of the longer side in a batch",
       .target = &s.mini_batch_words,
       .min = 1,
       .max = 1 << 30},
      {.name = "optimizer-delay",
       .value = "N",
       .help = "batches whose gradients make one update",
       .target = &s.optimizer_delay,
       .min = 1,
       .max = 1 << 20},
  };
}

}  // namespace

std::vector<Option> TrainOptions(TrainSettings& settings) {
  std::vector<Option> all;
  for (auto part : {DataOptions, PairOptions, NetworkOptions, VariantOptions,
                    OptimiserOptions, CourseOptions}) {
    for (Option& option : part(settings)) all.push_back(std::move(option));
  }
  return all;
}

}  // namespace pipeformer
