#include "tools/score_model.h"

#include <cmath>
#include <memory>

#include "formats/numbers.h"
#include "lib/base/error.h"
#include "tools/forced_pairs.h"
#include "tools/score_format.h"
#include "tools/support/pipeline.h"

namespace pipeformer {
namespace {

// The sums of a corpus. Records arrive in the order of the input, so that the
// sum is the same for any number of threads.
struct Summary {
  double log_prob = 0;
  int64_t pieces = 0;
  int64_t pairs = 0;
};

// One line a pair, for the sums: log-probability and length.
std::string FormatForSum(const ForcedRecord& pair) {
  if (pair.blank || !pair.problem.empty()) return "";
  return NumberText(pair.result.log_prob) + " " +
         std::to_string(pair.result.token_log_probs.size()) + "\n";
}

void AddLines(std::string_view lines, Summary& summary) {
  while (!lines.empty()) {
    const size_t space = lines.find(' ');
    const size_t end = lines.find('\n');
    summary.log_prob += ParseDouble(lines.substr(0, space));
    summary.pieces += static_cast<int64_t>(
        ParseDouble(lines.substr(space + 1, end - space - 1)));
    ++summary.pairs;
    lines.remove_prefix(end + 1);
  }
}

void WriteSummary(const Summary& summary, const ScoreModelOptions& options,
                  const std::string& to, Tool& tool) {
  if (summary.pairs == 0) {
    ThrowBadData(
        "nothing to summarise: no record has any pieces; give `source TAB "
        "target` lines, or lines of text to a language model of sentences");
  }
  const double cross_entropy =
      -summary.log_prob / static_cast<double>(summary.pieces);
  if (to == "jsonl") {
    tool.output().Write(DumpRecord({{"cross_entropy", cross_entropy},
                                    {"perplexity", std::exp(cross_entropy)},
                                    {"logprob", summary.log_prob},
                                    {"length", summary.pieces},
                                    {"pairs", summary.pairs}}));
    return;
  }
  const bool perplexity = options.summary == "perplexity";
  tool.output().Write(
      NumberText(perplexity ? std::exp(cross_entropy) : cross_entropy) + "\n");
}

}  // namespace

std::vector<Option> DeclareScoreModel(ScoreModelOptions& options) {
  return {
      {.name = "model",
       .value = "FILE",
       .help = "read pairs and give the log-probabilities of this model",
       .target = &options.model},
      PrecisionOption(options.precision),
      {.name = "from",
       .value = "tsv|jsonl|text",
       .help = "format of the pairs, with --model (tsv); a language model of "
               "sentences takes lines of text",
       .target = &options.from},
      {.name = "summary",
       .value = "cross-entropy|perplexity",
       .help = "with --model, one figure for all pairs: the mean over target "
               "pieces, in nats, or its exponential",
       .target = &options.summary},
      {.name = "distribution",
       .value = "N",
       .help = "with --model, the N most probable pieces at each position of "
               "the target; --to tensors gives the whole vocabulary's",
       .target = &options.distribution,
       .min = 0,
       .max = 1 << 24},
  };
}

void RunScoreModel(const ScoreModelOptions& options, const std::string& to,
                   Tool& tool) {
  const bool sum = !options.summary.empty();
  if (sum && (options.distribution > 0 || to == "tensors")) {
    ThrowUsage(
        "--summary gives one figure for all pairs; leave out --distribution "
        "and --to tensors, or --summary");
  }
  const Model model = LoadModel(options.model, PrecisionOf(options.precision));
  ForcedWishes wishes;
  const bool rows = to == "tensors";  // which hold every piece
  if (rows) wishes.probabilities = WantProbabilities::kYes;
  if (!rows) wishes.num_expected = options.distribution;
  const ScoreFormat format(*model.vocabularies.target, to,
                           options.distribution > 0);
  const MakeChunkWork make_work = [&]() -> ChunkWork {
    auto pairs = std::make_shared<ForcedPairs>(model, options.from, wishes);
    return [&, pairs](std::span<const InputRecord> records) {
      std::vector<RecordResult> results;
      pairs->Run(records, [&](const InputRecord& input, ForcedRecord& pair) {
        results.push_back({.bytes = sum ? FormatForSum(pair)
                                        : format.Bytes(pair, input.line.number),
                           .problem = pair.problem});
      });
      return results;
    };
  };
  if (!sum) {
    // Whole rows are large: few of them wait for the output.
    FilterChunks(tool, make_work, rows ? 1 : kPairsTogether);
    return;
  }
  Summary summary;
  FilterChunks(tool, make_work, kPairsTogether,
               [&](std::string_view lines) { AddLines(lines, summary); });
  WriteSummary(summary, options, to, tool);
}

}  // namespace pipeformer
