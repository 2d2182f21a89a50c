#include "tools/inspect_run.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "formats/heat_map.h"
#include "formats/model_file.h"
#include "formats/numbers.h"
#include "lib/base/error.h"
#include "tools/forced_pairs.h"
#include "tools/support/pipeline.h"

namespace pipeformer {
namespace {

Json LayerOrHead(int64_t number) {
  return number < 0 ? Json("average") : Json(number);
}

std::string NumberOrAverage(int64_t number) {
  return number < 0 ? "average" : std::to_string(number);
}

// The labels of a matrix' rows or columns: pieces with the special pieces
// where they stand.
std::vector<std::string> Labels(const char* before,
                                const std::vector<std::string>& pieces,
                                const char* after) {
  std::vector<std::string> labels;
  if (before != nullptr) labels.emplace_back(before);
  labels.insert(labels.end(), pieces.begin(), pieces.end());
  if (after != nullptr) labels.emplace_back(after);
  return labels;
}

// Turns one forced pair into the bytes of a record.
class Formatter {
 public:
  Formatter(const InspectSettings& settings, const TransformerConfig& config,
            HeatMapStyle style)
      : settings_(settings),
        to_(settings.to.empty() ? "jsonl" : settings.to),
        config_(config),
        style_(style) {}

  std::string Format(const InputRecord& input, ForcedRecord& pair) const {
    if (!pair.problem.empty()) return Bad(input, pair);
    const std::vector<ShownAttention> shown =
        Select(pair.result.attention, settings_.selection,
               config_.encoder_layers, config_.decoder_layers);
    if (to_ == "jsonl") return FormatJson(pair, shown);
    if (to_ == "tensors") return FormatTensors(pair, shown);
    return FormatText(pair, shown);
  }

 private:
  std::string Bad(const InputRecord& input, const ForcedRecord& pair) const {
    if (to_ == "jsonl") {
      return BadRecordLine(pair.record, pair.problem, input.line.number);
    }
    return to_ == "text" ? "\n" : FormatTensors(pair, {});
  }

  // The weights are written straight to text: as JSON values they would take
  // ten times the memory.
  static std::string FormatJson(const ForcedRecord& pair,
                                const std::vector<ShownAttention>& shown) {
    Json record = pair.record;
    record.erase("hypotheses");
    record.erase("attention");
    for (const auto& [key, sentence] :
         {std::pair{"source", &pair.source}, {"target", &pair.target}}) {
      Json json = record.contains(key) ? record[key] : Json::object();
      SetSentence(*sentence, &json);
      record[key] = std::move(json);
    }
    std::string line = DumpRecord(record);
    line.resize(line.size() - 2);  // without the closing brace and LF
    line += ",\"attention\":[";
    for (size_t i = 0; i < shown.size(); ++i) {
      if (i > 0) line += ',';
      AppendMatrix(shown[i], line);
    }
    return line + "]}\n";
  }

  static void AppendMatrix(const ShownAttention& m, std::string& line) {
    line += "{\"kind\":\"" + std::string(KindName(m.kind)) +
            "\",\"layer\":" + LayerOrHead(m.layer).dump() +
            ",\"head\":" + LayerOrHead(m.head).dump() + ",\"weights\":[";
    for (int64_t q = 0; q < m.queries; ++q) {
      line += q == 0 ? "[" : ",[";
      for (int64_t k = 0; k < m.keys; ++k) {
        if (k > 0) line += ',';
        AppendNumber(m.weights[static_cast<size_t>(q * m.keys + k)], line);
      }
      line += ']';
    }
    line += "]}";
  }

  // One frame: a tensor [queries, keys] for each matrix, `kind.layer.head`.
  static std::string FormatTensors(const ForcedRecord& pair,
                                   const std::vector<ShownAttention>& shown) {
    TensorCollection collection;
    for (const ShownAttention& m : shown) {
      collection.Add(std::string(KindName(m.kind)) + "." +
                         NumberOrAverage(m.layer) + "." +
                         NumberOrAverage(m.head),
                     ViewOf(std::span(m.weights), {m.queries, m.keys}));
    }
    collection.metadata["source_tokens"] = TokenList(pair.source.tokens);
    collection.metadata["target_tokens"] = TokenList(pair.target.tokens);
    if (!pair.problem.empty()) collection.metadata["error"] = pair.problem;
    return RecordFrame(pair.record["id"], std::move(collection));
  }

  static std::string TokenList(const std::vector<std::string>& tokens) {
    return Json(tokens).dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  std::string FormatText(const ForcedRecord& pair,
                         const std::vector<ShownAttention>& shown) const {
    if (pair.blank) return "\n";
    const auto& source = pair.source.tokens;
    const auto& target = pair.target.tokens;
    std::string text;
    for (const ShownAttention& m : shown) {
      HeatMap map{.row_labels = Labels(nullptr, target, "</s>"),
                  .column_labels = Labels(nullptr, source, "</s>"),
                  .weights = m.weights};
      if (m.kind == AttentionKind::kEncoder) map.row_labels = map.column_labels;
      if (m.kind == AttentionKind::kDecoder) {
        map.column_labels = Labels("<s>", target, nullptr);
        if (config_.is_language_model()) {
          const std::vector<std::string> sequence = SequenceLabels(pair);
          map.row_labels = {sequence.begin() + 1, sequence.end()};
          map.column_labels = {sequence.begin(), sequence.end() - 1};
        }
      }
      text += "# record " + pair.record["id"].dump() + "  " + KindName(m.kind) +
              "  layer " + NumberOrAverage(m.layer) + "  head " +
              NumberOrAverage(m.head) + "\n" + DrawHeatMap(map, style_) + "\n";
    }
    return text;
  }

  // All of a language model's sequence (PairBatch), the end symbol included.
  std::vector<std::string> SequenceLabels(const ForcedRecord& pair) const {
    const bool pairs = config_.trained_on == TrainedOn::kPairs;
    auto labels = Labels("<s>", pair.source.tokens, pairs ? "</s>" : nullptr);
    const auto target = Labels(nullptr, pair.target.tokens, "</s>");
    labels.insert(labels.end(), target.begin(), target.end());
    return labels;
  }

  const InspectSettings& settings_;
  std::string to_;
  const TransformerConfig& config_;
  HeatMapStyle style_;
};

// A language model has one kind of attention.
void CheckKinds(const AttentionSelection& selection,
                const TransformerConfig& config) {
  for (const std::string& kind : selection.kinds) {
    if (!config.is_language_model() || kind == "decoder") continue;
    ThrowUsage("--kind is '" + kind +
               "', but a language model has decoder attention alone");
  }
}

void RunPairs(Tool& tool, const InspectSettings& settings) {
  if (settings.from == "tensors") {
    ThrowUsage("--from tensors goes with --module; pairs are tsv or jsonl");
  }
  const Model model =
      LoadModel(settings.model, PrecisionOf(settings.precision));
  const TransformerConfig& config = model.network->config();
  CheckKinds(settings.selection, config);
  CheckSelection(settings.selection,
                 std::max(config.encoder_layers, config.decoder_layers),
                 config.num_heads);
  const bool colour = tool.options().output == "-" && isatty(STDOUT_FILENO);
  const Formatter formatter(
      settings, config, colour ? HeatMapStyle::kColour : HeatMapStyle::kShades);
  const ForcedWishes wishes{.attention = WantAttention::kYes};
  const MakeChunkWork make_work = [&]() -> ChunkWork {
    auto pairs = std::make_shared<ForcedPairs>(model, settings.from, wishes);
    return [&formatter, pairs](std::span<const InputRecord> records) {
      std::vector<RecordResult> results;
      pairs->Run(records, [&](const InputRecord& input, ForcedRecord& pair) {
        results.push_back(
            {.bytes = formatter.Format(input, pair), .problem = pair.problem});
      });
      return results;
    };
  };
  FilterChunks(tool, make_work, kPairsTogether);
}

}  // namespace

std::vector<Option> InspectOptions(InspectSettings& settings) {
  AttentionSelection& selection = settings.selection;
  std::vector<Option> options = {
      {.name = "model",
       .value = "FILE",
       .help = "the model, from train",
       .target = &settings.model},
      PrecisionOption(settings.precision),
      {.name = "from",
       .value = "tsv|jsonl|text|tensors",
       .help = "format of the pairs (tsv); jsonl takes decode's translations "
               "too; a language model of sentences takes lines of text; a "
               "module takes frames of tensors (default) or jsonl",
       .target = &settings.from},
      {.name = "to",
       .value = "jsonl|tensors|text",
       .help = "records (default), frames of tensors, or heat maps for a "
               "terminal; of a module what comes in",
       .target = &settings.to},
      {.name = "kind",
       .value = "KIND...",
       .help = "encoder, decoder, cross; by default all",
       .target = &selection.kinds},
      {.name = "layer",
       .value = "N...",
       .help = "only these layers, from 0; negative ones count from the top",
       .target = &selection.layers},
      {.name = "head",
       .value = "N...",
       .help = "only these heads, from 0",
       .target = &selection.heads},
      {.name = "average",
       .value = "heads|layers|both",
       .help = "one mean over the selected heads, layers, or both",
       .target = &selection.average},
      {.name = "top-k",
       .value = "K",
       .help = "only the K largest weights of each query, the others become 0; "
               "0 keeps all",
       .target = &selection.top_k,
       .min = 0},
  };
  for (Option& option : ModuleOptions(settings.module)) {
    options.push_back(std::move(option));
  }
  return options;
}

void RunInspect(Tool& tool, const InspectSettings& settings) {
  const bool module = !settings.module.path.empty();
  if (module != settings.model.empty()) {
    ThrowUsage(module ? "--model and --module do not go together; run "
                        "inspect-attention twice"
                      : "give --model FILE or --module FILE");
  }
  if (module) {
    if (settings.selection != AttentionSelection()) {
      ThrowUsage(
          "--kind, --layer, --head, --average and --top-k go with "
          "--model; a module has --need-weights");
    }
    if (settings.precision != kFullPrecision) {
      ThrowUsage(
          "--precision goes with --model; a module has single precision");
    }
    return RunModule(tool, settings.module, settings.from, settings.to);
  }
  if (settings.module != ModuleSettings()) {
    ThrowUsage("the options of a module go with --module, not with --model");
  }
  RunPairs(tool, settings);
}

}  // namespace pipeformer
