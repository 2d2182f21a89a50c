#include "tools/decode_run.h"

#include <cmath>
#include <map>
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

// One run: a reader fills a queue, workers search, an ordered writer writes.
class DecodeRun {
 public:
  DecodeRun(Tool& tool, const DecodeSettings& settings)
      : tool_(tool),
        settings_(settings),
        model_(LoadModel(settings.model)),
        translation_(settings.translation),
        search_(FitSearch(settings.translation.search, *model_.network,
                          model_.vocabularies)),
        writer_(tool, kReadAhead),
        queue_(kReadAhead) {
    translation_.continues =
        model_.network->config().trained_on == TrainedOn::kSentences;
    if (translation_.continues &&
        translation_.alignment != AlignmentKind::kNone) {
      ThrowUsage("--alignment is of no use: " + settings.model +
                 " continues sentences, it does not translate");
    }
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
        ReadSentence(job.line.text, place, job.index, sentence);
      }
    } catch (const Error& error) {
      Emit(job.index, Bad(sentence, error.what()));
      return std::nullopt;
    }
    if (!sentence.source.ids.empty()) return sentence;
    Emit(job.index, {.bytes = Format(sentence, BlankTranslation())});
    return std::nullopt;
  }

  void ReadSentence(const std::string& text, const std::string& place,
                    uint64_t index, SentenceToTranslate& sentence) const {
    const Vocabulary& vocabulary = *model_.vocabularies.source;
    if (settings_.from == "jsonl") {
      sentence.record = WithId(ParseRecord(text, place), index);
      RefuseErrorRecord(sentence.record, place);
      const Json& json = sentence.record.contains("source")
                             ? sentence.record["source"]
                             : sentence.record;
      sentence.source = EncodeSentence(json, vocabulary, place);
      const auto prefix = sentence.record.find("prefix");
      if (settings_.prefix && prefix != sentence.record.end() &&
          !prefix->is_null()) {
        sentence.prefix =
            EncodeSentence(*prefix, *model_.vocabularies.target, place);
      }
    } else if (settings_.prefix) {
      const TextPair pair = SplitPair(text, place);
      sentence.source = vocabulary.Encode(pair.source);
      sentence.prefix = model_.vocabularies.target->Encode(pair.target);
    } else {
      sentence.source = vocabulary.Encode(text);
    }
    CheckLength(static_cast<int64_t>(sentence.source.ids.size()), place);
    CheckPrefix(sentence, place);
  }

  // A text to continue may be longer than what is added to it.
  void CheckLength(int64_t length, const std::string& place) const {
    if (translation_.continues) {
      const int64_t limit = model_.network->config().max_positions - 1;
      if (length <= limit) return;
      ThrowBadData(place + ": " + std::to_string(length) +
                   " pieces, the model takes at most " + std::to_string(limit) +
                   "; give it a shorter beginning");
    }
    if (length <= search_.max_length) return;
    ThrowBadData(place + ": " + std::to_string(length) +
                 " pieces, the limit of --max-length and of the model is " +
                 std::to_string(search_.max_length) +
                 "; split the sentence or raise --max-length");
  }

  void CheckPrefix(const SentenceToTranslate& sentence,
                   const std::string& place) const {
    if (sentence.source.ids.empty() && !sentence.prefix.ids.empty()) {
      ThrowBadData(place +
                   ": a prefix without a source; give `source TAB prefix`");
    }
    const TransformerConfig& config = model_.network->config();
    const auto source = static_cast<int64_t>(sentence.source.ids.size());
    const auto prefix = static_cast<int64_t>(sentence.prefix.ids.size());
    const int64_t room = config.max_positions - PromptRows(config, source);
    if (prefix <= room) return;
    ThrowBadData(place + ": the prefix has " + std::to_string(prefix) +
                 " pieces, after this source the model takes at most " +
                 std::to_string(room) + "; shorten it");
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
  Model model_;
  TranslationOptions translation_;
  SearchOptions search_;
  OrderedWriter writer_;
  BoundedQueue<Job> queue_;
  std::string name_;
  uint64_t num_records_ = 0;
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
  if (settings.to.empty()) settings.to = settings.from;
  tool.output();  // a place that cannot be written fails before the work
  DecodeRun(tool, settings).Run();
}

}  // namespace pipeformer
