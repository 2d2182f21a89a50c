#include "tools/decode_run.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>
#include <utility>

#include "formats/line_reader.h"
#include "formats/model_file.h"
#include "lib/base/error.h"
#include "lib/base/peak_memory.h"
#include "lib/search/beam_search.h"
#include "tools/model_group.h"
#include "tools/sentence_reader.h"
#include "tools/support/ordered_writer.h"
#include "tools/support/pipeline.h"
#include "tools/support/progress.h"
#include "tools/support/queue.h"
#include "tools/verify_run.h"

namespace pipeformer {
namespace {

// Lines read ahead of the oldest one whose translation is not out.
constexpr uint64_t kReadAhead = 4096;

// What spaces divide.
int64_t NumWords(std::string_view text) {
  int64_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    count += text[i] != ' ' && (i == 0 || text[i - 1] == ' ');
  }
  return count;
}

// One run: a reader fills a queue, workers search, an ordered writer writes.
class DecodeRun {
 public:
  DecodeRun(Tool& tool, const DecodeSettings& settings)
      : tool_(tool),
        settings_(settings),
        models_(settings.models, settings.weights,
                PrecisionOf(settings.precision)),
        model_(models_.first()),
        translation_(settings.translation),
        search_(FitSearch(settings.translation, *model_.network,
                          model_.vocabularies)),
        reader_(model_, settings, search_.max_length),
        writer_(tool, kReadAhead,
                [this](std::string_view bytes) { Write(bytes); }),
        queue_(kReadAhead),
        progress_(tool, "lines") {
    translation_.continues =
        model_.network->config().trained_on == TrainedOn::kSentences;
    RefuseWithoutSource();
  }

  void Run() {
    {
      std::vector<std::jthread> workers;
      const QueueCloser closer(queue_);  // before the workers are joined
      for (int64_t w = 0; w < tool_.options().threads; ++w) {
        workers.emplace_back([this] { Work(); });
      }
      try {
        Read();
      } catch (...) {
        Emit(num_records_, {.failure = std::current_exception()});
      }
    }
    writer_.Finish();
    LogThroughput();
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Job {
    uint64_t index = 0;
    Line line;
  };

  void Read() {
    LineReader reader = tool_.OpenLines();
    name_ = reader.name();
    for (Job job; WaitForInput(reader, writer_) && reader.Next(&job.line);
         job = {}) {
      job.index = num_records_;
      if (!writer_.Admit(job.index)) return;
      ++num_records_;
      share_read_ = reader.ShareGiven().value_or(0);
      tool_.CountReplaced(job.line.num_replaced);
      if (!queue_.Push(std::move(job))) return;
    }
  }

  // From the writer, result after result.
  void Write(std::string_view bytes) {
    if (!bytes.empty()) tool_.output().Write(bytes);
    progress_.Update(++num_written_, ProgressNote());
  }

  // Words of the source a second, and the time left where the input is a file.
  std::string ProgressNote() const {
    const double seconds = Seconds();
    const auto words = static_cast<double>(source_words_);
    std::string note = "  " + ShortNumber(words / seconds) + " words/s";
    const double share = share_read_ * static_cast<double>(num_written_) /
                         static_cast<double>(num_records_);
    if (share > 0) {
      note += "  " + ClockText(seconds / share - seconds) + " left";
    }
    return note;
  }

  double Seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  // A model without a source cannot look at it.
  void RefuseWithoutSource() const {
    const auto refuse = [&](const char* option, const char* why) {
      ThrowUsage(std::string(option) + " is of no use: " + settings_.models[0] +
                 why);
    };
    constexpr char kContinues[] = " continues sentences, it does not translate";
    if (translation_.continues) {
      if (translation_.alignment != AlignmentKind::kNone) {
        refuse("--alignment", kContinues);
      }
      if (translation_.replace_unknowns) {
        refuse("--replace-unknowns", kContinues);
      }
    }
    if (search_.coverage_penalty > 0 &&
        model_.network->config().is_language_model()) {
      refuse("--coverage-penalty",
             " is a language model, which has no attention to a source");
    }
  }

  // Source and target pieces without end symbols; the target's are those of
  // the best hypotheses.
  void LogThroughput() {
    const double seconds = Seconds();
    const auto target = static_cast<double>(target_pieces_);
    tool_.Log({{"event", "throughput"},
               {"lines", num_records_.load()},
               {"source_pieces", source_pieces_.load()},
               {"target_pieces", target_pieces_.load()},
               {"seconds", seconds},
               {"target_pieces_per_second", target / seconds},
               {"memory_bytes", PeakMemoryBytes()}});
  }

  // Searches what the queue gives until it is closed and empty.
  void Work() {
    try {
      BeamSearch search(models_.ensemble(), search_);
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
      // It belongs to no one record: the run ends where the output stands.
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
      request = RequestOf(*sentence, static_cast<int64_t>(job->index));
      under_way.emplace(request.index, std::move(*sentence));
      return true;
    }
    return false;
  }

  // The sentence of a job, or nothing when its result is already out.
  std::optional<SentenceToTranslate> Prepare(const Job& job) {
    SentenceToTranslate sentence;
    sentence.line = job.line.number;
    sentence.record = WithId(Json::object(), job.index);
    const std::string place = name_ + ":" + std::to_string(sentence.line);
    try {
      if (!job.line.error.empty()) ThrowBadData(job.line.error);
      if (!job.line.text.empty()) {
        reader_.Read(job.line.text, place, job.index, sentence);
      }
    } catch (const Error& error) {
      Emit(job.index, Bad(sentence, error.what()));
      return std::nullopt;
    }
    if (!sentence.source.ids.empty()) return sentence;
    Emit(job.index, {.bytes = Format(sentence, BlankTranslation())});
    return std::nullopt;
  }

  void Finish(uint64_t index, const SentenceToTranslate& sentence,
              std::vector<Hypothesis> hypotheses, ForcedDecoder& forced) {
    if (hypotheses.empty() || !std::isfinite(hypotheses[0].log_prob)) {
      Emit(index,
           Bad(sentence, name_ + ":" + std::to_string(sentence.line) +
                             ": the model gives no finite probability; it is "
                             "damaged or its training diverged"));
      return;
    }
    if (!translation_.minimum_risk.empty()) {
      hypotheses = {LeastRisk(sentence, std::move(hypotheses),
                              *model_.vocabularies.target, translation_)};
    }
    source_pieces_ += static_cast<int64_t>(sentence.source.ids.size());
    source_words_ += NumWords(sentence.source.text);
    target_pieces_ += static_cast<int64_t>(hypotheses[0].ids.size());
    Translation translation{.hypotheses = std::move(hypotheses)};
    LookAtSource(sentence, translation, forced);
    Emit(index, {.bytes = Format(sentence, translation)});
  }

  // Adds what the attention of each hypothesis is asked for.
  void LookAtSource(const SentenceToTranslate& sentence,
                    Translation& translation, ForcedDecoder& forced) const {
    const bool aligns = translation_.alignment != AlignmentKind::kNone;
    if (!aligns && !translation_.replace_unknowns) return;
    for (const Hypothesis& h : translation.hypotheses) {
      const ForcedPair pair{sentence.source.ids, h.ids};
      const ForcedResult result =
          forced.Run({&pair, 1}, {.attention = WantAttention::kYes})[0];
      if (aligns) translation.aligned.push_back(Align(result, translation_));
      if (translation_.replace_unknowns) {
        translation.replacements.push_back(ReplaceUnknowns(
            sentence, h.ids, result, *model_.vocabularies.target));
      }
    }
  }

  std::string Format(const SentenceToTranslate& sentence,
                     const Translation& translation) const {
    const Vocabulary& target = *model_.vocabularies.target;
    if (settings_.to == "jsonl") {
      return DumpRecord(
          TranslationRecord(sentence, translation, target, translation_));
    }
    return TranslationText(sentence, translation, target, translation_);
  }

  // Under --strict nothing is written from a bad record on.
  Result Bad(const SentenceToTranslate& sentence,
             const std::string& message) const {
    Result result{.problems = {message}};
    if (tool_.options().strict) return result;
    result.bytes = settings_.to == "jsonl"
                       ? BadRecordLine(sentence.record, message, sentence.line)
                       : "\n";
    return result;
  }

  void Emit(uint64_t index, Result result) {
    writer_.Emit(index, std::move(result));
  }

  Tool& tool_;
  const DecodeSettings& settings_;
  ModelGroup models_;
  const Model& model_;  // the first of them
  TranslationOptions translation_;
  SearchOptions search_;
  SentenceReader reader_;
  OrderedWriter writer_;
  BoundedQueue<Job> queue_;
  std::string name_;
  std::atomic<uint64_t> num_records_ = 0;  // read
  uint64_t num_written_ = 0;
  std::atomic<double> share_read_ = 0;  // of the input, 0: not known
  std::atomic<int64_t> source_pieces_ = 0, target_pieces_ = 0,
                       source_words_ = 0;
  Progress progress_;
  const Clock::time_point start_ = Clock::now();  // the models are loaded
};

}  // namespace

void RunDecode(Tool& tool, DecodeSettings& settings) {
  SearchOptions& search = settings.translation.search;
  SamplingOptions& sampling = search.sampling;
  sampling.seed = tool.options().seed;
  sampling.temperature = settings.temperature.value_or(1);
  if (settings.temperature && !sampling.active()) {
    ThrowUsage("--temperature goes with --sampling; beam search draws nothing");
  }
  if (!sampling.active() && search.n_best > search.beam_size) {
    ThrowUsage("--n-best is " + std::to_string(search.n_best) +
               ", more than --beam-size " + std::to_string(search.beam_size) +
               "; raise --beam-size");
  }
  if (!settings.translation.minimum_risk.empty() && search.n_best == 1) {
    ThrowUsage("--mbr chooses among several hypotheses; give --n-best N");
  }
  if (settings.constraints && sampling.active()) {
    ThrowUsage("--constraints needs a beam; --sampling draws each piece alone");
  }
  if (settings.to.empty()) settings.to = settings.from;
  tool.output();  // a place that cannot be written fails before the work
  if (settings.verify_invariance > 0) return VerifyInvariance(tool, settings);
  DecodeRun(tool, settings).Run();
}

}  // namespace pipeformer
