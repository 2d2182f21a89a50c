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
#include "lib/search/invariance.h"
#include "tools/model_group.h"
#include "tools/sentence_reader.h"
#include "tools/support/ordered_writer.h"
#include "tools/support/pipeline.h"
#include "tools/support/progress.h"
#include "tools/support/queue.h"

namespace pipeformer {
namespace {

// Lines read ahead of the oldest one whose translation is not out.
constexpr uint64_t kReadAhead = 4096;

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
        search_(FitSearch(settings.translation.search, *model_.network,
                          model_.vocabularies)),
        reader_(model_, settings, search_.max_length),
        writer_(tool, kReadAhead),
        queue_(kReadAhead) {
    translation_.continues =
        model_.network->config().trained_on == TrainedOn::kSentences;
    if (translation_.continues &&
        translation_.alignment != AlignmentKind::kNone) {
      ThrowUsage("--alignment is of no use: " + settings.models[0] +
                 " continues sentences, it does not translate");
    }
  }

  // Searches the first lines in several ways, in place of translating.
  void VerifyInvariance() {
    LineReader reader = tool_.OpenLines();
    name_ = reader.name();
    std::vector<SearchRequest> requests;
    std::vector<int64_t> line_of;  // of each record
    for (Line line;
         static_cast<int64_t>(line_of.size()) < settings_.verify_invariance &&
         reader.Next(&line);) {
      const auto index = static_cast<int64_t>(line_of.size());
      line_of.push_back(line.number);
      SentenceToTranslate sentence;
      sentence.line = line.number;
      try {
        if (!line.error.empty()) ThrowBadData(line.error);
        if (!line.text.empty()) {
          reader_.Read(line.text, reader.Place(line.number),
                       static_cast<uint64_t>(index), sentence);
        }
      } catch (const Error& error) {
        tool_.BadRecord(error.what());
      }
      if (sentence.source.ids.empty()) continue;
      requests.push_back({index, sentence.source.ids, sentence.prefix.ids});
    }
    const int64_t threads = tool_.options().threads;
    const auto variances =
        FindVariances(models_.ensemble(), search_, requests, threads);
    for (const Variance& v : variances) {
      tool_.Note(name_ + ":" +
                 std::to_string(line_of[static_cast<size_t>(v.index)]) +
                 ": another result " + v.way + " than with all others");
    }
    if (!variances.empty()) {
      throw Error(ExitCode::kInternalFault,
                  std::to_string(variances.size()) +
                      " results depend on more than their sentence; please "
                      "report this with the model and the lines");
    }
    tool_.output().Write(std::to_string(requests.size()) +
                         " sentences alone, together, in reverse order and "
                         "with --threads " +
                         std::to_string(threads) +
                         ": the same to the last bit\n");
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

  // Source and target pieces without end symbols; the target's are those of
  // the best hypotheses.
  void LogThroughput() {
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start_).count();
    const auto target = static_cast<double>(target_pieces_);
    tool_.Log({{"event", "throughput"},
               {"lines", num_records_},
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
      request.index = static_cast<int64_t>(job->index);
      request.source = sentence->source.ids;
      request.prefix = sentence->prefix.ids;
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
    target_pieces_ += static_cast<int64_t>(hypotheses[0].ids.size());
    Translation translation{.hypotheses = std::move(hypotheses), .aligned = {}};
    if (translation_.alignment != AlignmentKind::kNone) {
      for (const Hypothesis& h : translation.hypotheses) {
        const ForcedPair pair{sentence.source.ids, h.ids};
        translation.aligned.push_back(
            Align(forced.Run({&pair, 1}, {.attention = WantAttention::kYes})[0],
                  translation_));
      }
    }
    Emit(index, {.bytes = Format(sentence, translation)});
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
  uint64_t num_records_ = 0;
  std::atomic<int64_t> source_pieces_ = 0, target_pieces_ = 0;
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
  if (settings.to.empty()) settings.to = settings.from;
  tool.output();  // a place that cannot be written fails before the work
  DecodeRun run(tool, settings);
  settings.verify_invariance > 0 ? run.VerifyInvariance() : run.Run();
}

}  // namespace pipeformer
