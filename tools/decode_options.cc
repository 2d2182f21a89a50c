#include "tools/decode_options.h"

#include <charconv>
#include <cmath>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

void ParseAlignment(const std::string& text, TranslationOptions& options) {
  double threshold = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, threshold);
  if (text == "hard") {
    options.alignment = AlignmentKind::kHard;
  } else if (text == "soft") {
    options.alignment = AlignmentKind::kSoft;
  } else if (error == std::errc() && rest == end && threshold >= 0 &&
             threshold < 1) {
    options.alignment = AlignmentKind::kThreshold;
    options.alignment_threshold = threshold;
  } else {
    ThrowUsage("--alignment is '" + text +
               "'; give hard, soft or a threshold in [0, 1)");
  }
}

// full, topk:K or nucleus:P.
void ParseSampling(const std::string& text, SamplingOptions& sampling) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  double value = 0;
  const char* end = text.data() + text.size();
  const char* begin =
      colon == std::string::npos ? end : text.data() + colon + 1;
  const auto [rest, error] = std::from_chars(begin, end, value);
  const bool number = error == std::errc() && rest == end;
  if (text == "full") {
    sampling.kind = SamplingKind::kFull;
  } else if (kind == "topk" && number && value >= 1 && value <= 1e9 &&
             value == std::floor(value)) {
    sampling.kind = SamplingKind::kTopK;
    sampling.k = static_cast<int64_t>(value);
  } else if (kind == "nucleus" && number && value > 0 && value <= 1) {
    sampling.kind = SamplingKind::kNucleus;
    sampling.p = value;
  } else {
    ThrowUsage("--sampling is '" + text +
               "'; give full, topk:K with a whole K of at least 1, or "
               "nucleus:P with P in (0, 1]");
  }
}

std::vector<Option> ChoiceOptionRows(DecodeSettings& settings) {
  SearchOptions& search = settings.translation.search;
  return {
      {.name = "sampling",
       .value = "full|topk:K|nucleus:P",
       .help = "draw --n-best hypotheses by chance (--seed), among all pieces, "
               "the K most probable, or the fewest that reach probability P; "
               "log-probabilities stay those of the model",
       .target = std::function<void(const std::string&)>(
           [&search](const std::string& text) {
             ParseSampling(text, search.sampling);
           })},
      {.name = "temperature",
       .value = "T",
       .help = "with --sampling, divide the logits by T: below 1 is bolder, "
               "0 takes the most probable piece (1)",
       .target = &settings.temperature,
       .min = 0,
       .max = 1000},
      {.name = "mbr",
       .value = "chrf|bleu",
       .help = "give, of --n-best hypotheses, the one that the others agree "
               "with most by this metric (minimum Bayes risk)",
       .target = &settings.translation.minimum_risk},
      {.name = "no-repeat-ngram-size",
       .value = "N",
       .help = "no sequence of N pieces comes twice in a result, a given "
               "prefix left out; 0 allows all",
       .target = &search.no_repeat_ngram_size,
       .min = 0,
       .max = 1000},
      {.name = "repetition-penalty",
       .value = "P",
       .help = "rank by log-probabilities in which those of pieces that were "
               "said before count P times; above 1 they come less often",
       .target = &search.repetition_penalty,
       .min = 1,
       .max = 100},
      {.name = "coverage-penalty",
       .value = "B",
       .help = "add B times the sum over source pieces of log(min(1, attention "
               "to it)) to the score",
       .target = &search.coverage_penalty,
       .min = 0,
       .max = 100},
      {.name = "constraints",
       .value = "",
       .help = "the input is `source TAB text TAB text...` (or records with a "
               "list `constraints`): every result contains these texts",
       .target = &settings.constraints},
      {.name = "verify-invariance",
       .value = "N",
       .help = "translate nothing: search the first N lines alone, together, "
               "in reverse order and by all threads, and say whether any bit "
               "differs",
       .target = &settings.verify_invariance,
       .min = 1,
       .max = 1e9},
      {.name = "prefix",
       .value = "",
       .help = "the input is `source TAB prefix` (or records with a `prefix`): "
               "the result begins with the prefix, which counts in its "
               "log-probability",
       .target = &settings.prefix},
  };
}

std::vector<Option> SearchOptionRows(SearchOptions& search) {
  return {
      {.name = "beam-size",
       .value = "N",
       .help = "hypotheses kept; 1 is greedy search",
       .target = &search.beam_size,
       .min = 1,
       .max = 1000},
      {.name = "n-best",
       .value = "N",
       .help = "hypotheses given; more than one as text are Moses lines",
       .target = &search.n_best,
       .min = 1,
       .max = 1000},
      {.name = "normalize",
       .value = "A",
       .help = "rank by log-probability over length^A",
       .target = &search.normalize,
       .min = 0,
       .max = 10},
      {.name = "max-length",
       .value = "N",
       .help = "most pieces of a source and of a translation, or of what is "
               "added to a text",
       .target = &search.max_length,
       .min = 1,
       .max = 4000},
      {.name = "min-length",
       .value = "N",
       .help = "fewest pieces of a translation, or of what is added to a text, "
               "where the most allow so many",
       .target = &search.min_length,
       .min = 0,
       .max = 4000},
      {.name = "max-length-factor",
       .value = "F",
       .help = "a translation has at most F times the source's pieces, and ten",
       .target = &search.max_length_factor,
       .min = 0,
       .max = 1000},
      {.name = "mini-batch-words",
       .value = "N",
       .help = "source pieces searched together by a thread, 0: as suits the "
               "model; the result does not depend on it",
       .target = &search.mini_batch_words,
       .min = 0,
       .max = 1 << 24},
  };
}

}  // namespace

std::vector<Option> DecodeOptions(DecodeSettings& settings) {
  TranslationOptions& translation = settings.translation;
  std::vector<Option> options = {
      {.name = "model",
       .value = "FILE...",
       .help = "the model, from train; several with one vocabulary choose "
               "together",
       .target = &settings.models,
       .required = true},
      {.name = "weights",
       .value = "W...",
       .help = "what the log-probabilities of each model count (one over the "
               "number of models)",
       .target = &settings.weights,
       .min = 0,
       .max = 1000},
      PrecisionOption(settings.precision),
      {.name = "from",
       .value = "text|jsonl",
       .help = "format of the input",
       .target = &settings.from},
      {.name = "to",
       .value = "text|jsonl",
       .help = "format of the output, by default that of the input",
       .target = &settings.to},
  };
  for (Option& option : SearchOptionRows(translation.search)) {
    options.push_back(std::move(option));
  }
  for (Option& option : ChoiceOptionRows(settings)) {
    options.push_back(std::move(option));
  }
  const std::vector<Option> extras = {
      {.name = "alignment",
       .value = "hard|soft|THRESHOLD",
       .help = "adds which source piece each target piece looks at",
       .target = std::function<void(const std::string&)>(
           [&translation](const std::string& text) {
             ParseAlignment(text, translation);
           })},
      {.name = "replace-unknowns",
       .value = "",
       .help = "let the unknown piece be produced, and give in its place the "
               "word of the source that it looks at",
       .target = &translation.replace_unknowns},
      {.name = "word-scores",
       .value = "",
       .help = "adds the log-probability of every piece",
       .target = &translation.word_scores},
  };
  options.insert(options.end(), extras.begin(), extras.end());
  return options;
}

}  // namespace pipeformer
