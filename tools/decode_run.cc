#include "tools/decode_run.h"

#include <charconv>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "formats/line_reader.h"
#include "formats/model_file.h"
#include "lib/base/error.h"
#include "lib/search/beam_search.h"
#include "tools/forced_pairs.h"
#include "tools/support/ordered_writer.h"
#include "tools/support/pipeline.h"
#include "tools/support/progress.h"
#include "tools/support/queue.h"

namespace pipeformer {
namespace {

// Lines read ahead of the oldest one whose translation is not out.
constexpr uint64_t kReadAhead = 4096;

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

// One run: a reader fills a queue, workers search, an ordered writer writes.
class DecodeRun {
 public:
  DecodeRun(Tool& tool, const DecodeSettings& settings)
      : tool_(tool),
        settings_(settings),
        model_(LoadModel(settings.model)),
        search_(FitSearch(settings.translation.search, model_.vocabularies)),
        writer_(tool, kReadAhead),
        queue_(kReadAhead) {}

  void Run() {
    std::vector<std::thread> workers;
    for (int64_t w = 0; w < tool_.options().threads; ++w) {
      workers.emplace_back([this] { Work(); });
    }
    try {
      Read();
    } catch (...) {
      Emit(num_records_, {.failure = std::current_exception()});
    }
    queue_.Close();
    for (std::thread& worker : workers) worker.join();
    writer_.Finish();
  }

 private:
  struct Job {
    uint64_t index = 0;
    Line line;
  };

  void Read() {
    LineReader reader = tool_.OpenLines();
    name_ = reader.name();
    Progress progress(tool_, "lines");
    for (Job job; WaitForInput(reader, writer_) && reader.Next(&job.line);
         job = {}) {
      job.index = num_records_;
      if (!writer_.Admit(job.index)) return;
      ++num_records_;
      progress.Update(num_records_);
      tool_.CountReplaced(job.line.num_replaced);
      if (!queue_.Push(std::move(job))) return;
    }
  }

  // Searches what the queue gives until it is closed and empty.
  void Work() {
    try {
      BeamSearch search(*model_.network, search_);
      ForcedDecoder forced(*model_.network, search_.boundary);
      std::map<int64_t, SentenceToTranslate> under_way;
      search.Run(
          [&](Wait wait, SearchRequest& request) {
            return NextRequest(wait, request, under_way);
          },
          [&](SearchResult result) {
            auto node = under_way.extract(result.index);
            Finish(static_cast<uint64_t>(result.index), node.mapped(),
                   std::move(result.hypotheses), forced);
          });
    } catch (...) {
      // Cannot be told which record failed: the run ends after all before.
      queue_.Close();
      writer_.Fail(std::current_exception());
    }
  }

  // Takes jobs until one needs a search; others are answered at once.
  bool NextRequest(Wait wait, SearchRequest& request,
                   std::map<int64_t, SentenceToTranslate>& under_way) {
    while (!writer_.Failed()) {
      auto job = wait == Wait::kYes ? queue_.Pop() : queue_.TryPop();
      if (!job) return false;
      auto sentence = Prepare(*job);
      if (!sentence) continue;
      request.index = static_cast<int64_t>(job->index);
      request.source = sentence->source.ids;
      under_way.emplace(request.index, std::move(*sentence));
      return true;
    }
    return false;
  }

  // The sentence of a job, or nothing when its result is already out.
  std::optional<SentenceToTranslate> Prepare(const Job& job) {
    const std::string place = name_ + ":" + std::to_string(job.line.number);
    SentenceToTranslate sentence;
    try {
      if (!job.line.error.empty()) ThrowBadData(job.line.error);
      ReadSentence(job.line.text, place, sentence);
    } catch (const Error& error) {
      Emit(job.index, Bad(job, sentence, error.what()));
      return std::nullopt;
    }
    if (!sentence.source.ids.empty()) return sentence;
    Emit(job.index, {.bytes = Format(job.index, sentence, BlankTranslation())});
    return std::nullopt;
  }

  void ReadSentence(const std::string& text, const std::string& place,
                    SentenceToTranslate& sentence) const {
    const Vocabulary& vocabulary = *model_.vocabularies.source;
    if (settings_.from == "text") {
      sentence.source = vocabulary.Encode(text);
    } else {
      sentence.record = ParseRecord(text, place);
      if (IsErrorRecord(sentence.record)) {
        ThrowBadData(place + ": an error record came in");
      }
      const Json& json = sentence.record.contains("source")
                             ? sentence.record["source"]
                             : sentence.record;
      sentence.source = EncodeSentence(json, vocabulary, place);
    }
    const auto length = static_cast<int64_t>(sentence.source.ids.size());
    if (length > search_.max_length) {
      ThrowBadData(place + ": " + std::to_string(length) +
                   " pieces, the limit of --max-length is " +
                   std::to_string(search_.max_length) +
                   "; split the sentence or raise the limit");
    }
  }

  void Finish(uint64_t index, const SentenceToTranslate& sentence,
              std::vector<Hypothesis> hypotheses, ForcedDecoder& forced) {
    Translation translation{.hypotheses = std::move(hypotheses), .aligned = {}};
    if (settings_.translation.alignment != AlignmentKind::kNone) {
      for (const Hypothesis& h : translation.hypotheses) {
        const ForcedPair pair{sentence.source.ids, h.ids};
        translation.aligned.push_back(
            Align(forced.Run({&pair, 1}, WantAttention::kYes)[0],
                  settings_.translation));
      }
    }
    Emit(index, {.bytes = Format(index, sentence, translation)});
  }

  std::string Format(uint64_t index, const SentenceToTranslate& sentence,
                     const Translation& translation) const {
    const Vocabulary& target = *model_.vocabularies.target;
    if (settings_.to == "jsonl") {
      return DumpRecord(TranslationRecord(sentence, translation, index, target,
                                          settings_.translation));
    }
    return TranslationText(translation, index, target, settings_.translation);
  }

  Result Bad(const Job& job, const SentenceToTranslate& sentence,
             const std::string& message) const {
    Json id = job.index;
    if (sentence.record.is_object() && sentence.record.contains("id")) {
      id = sentence.record["id"];
    }
    std::string bytes;
    if (settings_.to == "jsonl") {
      bytes = DumpRecord(ErrorRecord(id, message, job.line.number));
    } else {
      bytes =
          TranslationText(BlankTranslation(), job.index,
                          *model_.vocabularies.target, settings_.translation);
    }
    return {.bytes = std::move(bytes), .problems = {message}};
  }

  void Emit(uint64_t index, Result result) {
    writer_.Emit(index, std::move(result));
  }

  Tool& tool_;
  const DecodeSettings& settings_;
  Model model_;
  SearchOptions search_;
  OrderedWriter writer_;
  BoundedQueue<Job> queue_;
  std::string name_;
  uint64_t num_records_ = 0;
};

}  // namespace

std::vector<Option> DecodeOptions(DecodeSettings& settings) {
  SearchOptions& search = settings.translation.search;
  TranslationOptions& translation = settings.translation;
  return {
      {.name = "model",
       .value = "FILE",
       .help = "the model, from train",
       .target = &settings.model,
       .required = true},
      {.name = "from",
       .value = "text|jsonl",
       .help = "format of the input",
       .target = &settings.from},
      {.name = "to",
       .value = "text|jsonl",
       .help = "format of the output, by default that of the input",
       .target = &settings.to},
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
       .help = "most pieces of a source, and of a translation",
       .target = &search.max_length,
       .min = 1,
       .max = 4000},
      {.name = "max-length-factor",
       .value = "F",
       .help = "a translation has at most F times the source's pieces, and ten",
       .target = &search.max_length_factor,
       .min = 0,
       .max = 1000},
      {.name = "mini-batch-words",
       .value = "N",
       .help = "source pieces searched together by a thread; the result does "
               "not depend on it",
       .target = &search.mini_batch_words,
       .min = 1,
       .max = 1 << 24},
      {.name = "alignment",
       .value = "hard|soft|THRESHOLD",
       .help = "adds which source piece each target piece looks at",
       .target = std::function<void(const std::string&)>(
           [&translation](const std::string& text) {
             ParseAlignment(text, translation);
           })},
      {.name = "word-scores",
       .value = "",
       .help = "adds the log-probability of every piece",
       .target = &translation.word_scores},
  };
}

void RunDecode(Tool& tool, DecodeSettings& settings) {
  const SearchOptions& search = settings.translation.search;
  if (search.n_best > search.beam_size) {
    ThrowUsage("--n-best is " + std::to_string(search.n_best) +
               ", more than --beam-size " + std::to_string(search.beam_size) +
               "; raise --beam-size");
  }
  if (settings.to.empty()) settings.to = settings.from;
  tool.output();  // a place that cannot be written fails before the work
  DecodeRun(tool, settings).Run();
}

}  // namespace pipeformer
