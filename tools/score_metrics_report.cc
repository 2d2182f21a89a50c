#include "tools/score_metrics_report.h"

#include <algorithm>
#include <charconv>

#include "formats/records.h"

namespace pipeformer {
namespace {

// `value` with no more than `width` decimals, as a number.
double Round(double value, int width) {
  const std::string text = FormatFixed(value, width);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

Json ToJson(const MetricResult& result, int width) {
  Json json = {{"name", result.name},
               {"score", Round(result.score, width)},
               {"signature", FormatSignature(result.signature)}};
  if (!result.details.empty()) json["verbose_score"] = result.details;
  for (const auto& [key, value] : result.signature) json[key] = value;
  return json;
}

// `NAME|SIGNATURE`, what the score stands behind in text.
std::string Head(const MetricResult& result) {
  return result.name + '|' + FormatSignature(result.signature);
}

std::string ToText(const MetricResult& result, int width) {
  std::string text = Head(result) + " = " + FormatFixed(result.score, width);
  if (!result.details.empty()) text += ' ' + result.details;
  return text;
}

// The list as sacreBLEU lays it out: brackets on lines of their own, objects
// not indented.
std::string FormatJson(const std::vector<MetricResult>& results, int width) {
  if (results.size() == 1) return ToJson(results[0], width).dump(1) + '\n';
  std::string text = "[\n";
  for (size_t i = 0; i < results.size(); ++i) {
    text += ToJson(results[i], width).dump(1);
    text += i + 1 < results.size() ? ",\n" : "\n";
  }
  return text + "]\n";
}

// One line a metric, the equals signs below each other.
std::string FormatText(const std::vector<MetricResult>& results, int width) {
  size_t widest = 0;
  for (const auto& result : results) {
    widest = std::max(widest, Head(result).size());
  }
  std::string text;
  for (const auto& result : results) {
    text.append(widest - Head(result).size(), ' ');
    text += ToText(result, width) + '\n';
  }
  return text;
}

}  // namespace

std::string FormatCorpusScores(const std::vector<MetricResult>& results,
                               ScoreFormat format, int width) {
  if (format == ScoreFormat::kJson) return FormatJson(results, width);
  if (format == ScoreFormat::kText) return FormatText(results, width);
  std::string text;
  for (const auto& result : results) {
    text += format == ScoreFormat::kNumber ? FormatFixed(result.score, width)
                                           : ToJson(result, width).dump();
    text += '\n';
  }
  return text;
}

std::string FormatSegmentScores(uint64_t id,
                                const std::vector<MetricResult>& results,
                                ScoreFormat format, int width) {
  Json list = Json::array();
  std::string text;
  for (const auto& result : results) {
    if (!text.empty()) text += '\t';
    if (format == ScoreFormat::kNumber) {
      text += FormatFixed(result.score, width);
    } else if (format == ScoreFormat::kText) {
      text += ToText(result, width);
    } else {
      list.push_back(WithId(ToJson(result, width), id));
    }
  }
  if (!list.empty()) text = (list.size() == 1 ? list[0] : list).dump();
  return text + '\n';
}

std::string FormatSegmentError(uint64_t id, const std::string& message,
                               int64_t line, ScoreFormat format) {
  if (format == ScoreFormat::kText || format == ScoreFormat::kNumber) {
    return "\n";
  }
  return DumpRecord(ErrorRecord(id, message, line));
}

}  // namespace pipeformer
