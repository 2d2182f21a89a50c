#include "tools/verify_run.h"

#include <string>
#include <vector>

#include "formats/line_reader.h"
#include "lib/base/error.h"
#include "lib/search/invariance.h"
#include "tools/model_group.h"
#include "tools/sentence_reader.h"

namespace pipeformer {

void VerifyInvariance(Tool& tool, const DecodeSettings& settings) {
  const ModelGroup models(settings.models, settings.weights,
                          PrecisionOf(settings.precision));
  const Model& model = models.first();
  const SearchOptions search =
      FitSearch(settings.translation, *model.network, model.vocabularies);
  const SentenceReader sentences(model, settings, search.max_length);
  LineReader reader = tool.OpenLines();
  std::vector<SearchRequest> requests;
  std::vector<int64_t> line_of;  // of each record
  for (Line line;
       static_cast<int64_t>(line_of.size()) < settings.verify_invariance &&
       reader.Next(&line);) {
    const auto index = static_cast<int64_t>(line_of.size());
    line_of.push_back(line.number);
    SentenceToTranslate sentence;
    try {
      if (!line.error.empty()) ThrowBadData(line.error);
      if (!line.text.empty()) {
        sentences.Read(line.text, reader.Place(line.number),
                       static_cast<uint64_t>(index), sentence);
      }
    } catch (const Error& error) {
      tool.BadRecord(error.what());
    }
    if (sentence.source.ids.empty()) continue;
    requests.push_back(RequestOf(sentence, index));
  }
  const int64_t threads = tool.options().threads;
  const auto variances =
      FindVariances(models.ensemble(), search, requests, threads);
  for (const Variance& v : variances) {
    tool.Note(reader.Place(line_of[static_cast<size_t>(v.index)]) +
              ": another result " + v.way + " than with all others");
  }
  if (!variances.empty()) {
    throw Error(ExitCode::kInternalFault,
                std::to_string(variances.size()) +
                    " results depend on more than their sentence; please "
                    "report this with the model and the lines");
  }
  tool.output().Write(std::to_string(requests.size()) +
                      " sentences alone, together, in reverse order and "
                      "with --threads " +
                      std::to_string(threads) + ": the same to the last bit\n");
}

}  // namespace pipeformer
