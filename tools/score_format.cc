#include "tools/score_format.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <sstream>

#include "formats/numbers.h"

namespace pipeformer {
namespace {

// A number with `digits` after the dot, whatever the locale.
std::string Fixed(double value, int digits) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.setf(std::ios::fixed);
  out.precision(digits);
  out << value;
  return std::move(out).str();
}

// `text` with spaces up to `width` characters.
std::string Padded(std::string text, size_t width) {
  const auto characters =
      static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      }));
  if (characters < width) text.append(width - characters, ' ');
  return text;
}

// The ids of the target with its end symbol.
std::vector<int32_t> PredictedIds(const ForcedRecord& pair, int32_t eos) {
  std::vector<int32_t> ids = pair.target.ids;
  ids.push_back(eos);
  return ids;
}

}  // namespace

std::string ScoreFormat::Bytes(const ForcedRecord& pair, int64_t line) const {
  if (to_ == "tensors") return Frame(pair);
  if (to_ == "jsonl") {
    if (pair.problem.empty()) return DumpRecord(Record(pair));
    return BadRecordLine(pair.record, pair.problem, line);
  }
  if (pair.blank || !pair.problem.empty()) return "\n";
  if (distribution_) return Table(pair);
  return NumberText(pair.result.log_prob) + "\n";
}

Json ScoreFormat::Record(const ForcedRecord& pair) const {
  Json record = pair.record;
  record["logprob"] = pair.result.log_prob;
  record["length"] = pair.result.token_log_probs.size();
  record["token_logprobs"] = NumberList(pair.result.token_log_probs);
  if (distribution_) record["distribution"] = Distribution(pair.result);
  return record;
}

Json ScoreFormat::Distribution(const ForcedResult& result) const {
  Json positions = Json::array();
  for (const auto& expected : result.expected) {
    Json pieces = Json::array();
    for (const ExpectedPiece& e : expected) {
      pieces.push_back(
          {{"piece", target_.PieceOf(e.id)},
           {"id", e.id},
           {"probability", std::exp(static_cast<double>(e.log_prob))}});
    }
    positions.push_back(std::move(pieces));
  }
  return positions;
}

std::string ScoreFormat::Table(const ForcedRecord& pair) const {
  const ForcedResult& result = pair.result;
  const auto ids = PredictedIds(pair, target_.eos_id());
  constexpr size_t kWidth = 10;  // of a column of pieces
  std::string text = "# record " + pair.record["id"].dump() + "\n";
  for (size_t t = 0; t < ids.size(); ++t) {
    const auto log_prob = static_cast<double>(result.token_log_probs[t]);
    text += Padded(target_.PieceOf(ids[t]), kWidth) + " loss " +
            Fixed(-log_prob, 4) + " |";
    for (const ExpectedPiece& e : result.expected[t]) {
      text += "  " + Padded(target_.PieceOf(e.id), kWidth) + " " +
              Fixed(std::exp(static_cast<double>(e.log_prob)), 4);
    }
    text += "\n";
  }
  return text + Padded("sum", kWidth) + " loss " + Fixed(-result.log_prob, 4) +
         "\n\n";
}

std::string ScoreFormat::Frame(const ForcedRecord& pair) const {
  const ForcedResult& result = pair.result;
  TensorCollection collection;
  std::vector<int32_t> ids;
  if (!pair.blank && pair.problem.empty()) {
    ids = PredictedIds(pair, target_.eos_id());
    const auto length = static_cast<int64_t>(ids.size());
    collection.Add("ids", ViewOf(std::span(std::as_const(ids)), {length}));
    collection.Add("token_logprobs",
                   ViewOf(std::span(result.token_log_probs), {length}));
    collection.Add("probabilities", ViewOf(std::span(result.probabilities),
                                           {length, target_.size()}));
  }
  if (!pair.problem.empty()) collection.metadata["error"] = pair.problem;
  return RecordFrame(pair.record["id"], std::move(collection));
}

}  // namespace pipeformer
