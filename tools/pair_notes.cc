#include "tools/pair_notes.h"

#include <cstdint>

#include "formats/numbers.h"
#include "formats/pharaoh.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

std::unique_ptr<LineReader> Open(const std::string& file) {
  if (file.empty()) return nullptr;
  return std::make_unique<LineReader>(OpenInput(file), InvalidUtf8::kError);
}

float CheckedWeight(double weight, const std::string& text,
                    const std::string& place) {
  if (weight == 0) return 0;
  if (weight >= 1 / kMaxWeight && weight <= kMaxWeight) {
    return static_cast<float>(weight);
  }
  ThrowBadData(place + ": the weight of a pair is " + text +
               "; it must be 0, which leaves the pair out, or a number from "
               "0.000001 to 1000000");
}

float ParseWeight(const std::string& text, const std::string& place) {
  double weight = -1;
  try {
    weight = ParseDouble(text);
  } catch (const Error&) {  // told with its place
  }
  return CheckedWeight(weight, "'" + text + "'", place);
}

std::vector<Link> LinksOf(const Json& alignment, const std::string& place) {
  if (alignment.is_string()) {
    return ParsePharaoh(alignment.get<std::string>(), place);
  }
  std::vector<Link> links;
  const bool is_list = alignment.is_array();
  for (const Json& link : is_list ? alignment : Json::array({alignment})) {
    const bool is_link = is_list && link.is_array() && link.size() == 2 &&
                         link[0].is_number_unsigned() &&
                         link[1].is_number_unsigned() && link[0] <= INT32_MAX &&
                         link[1] <= INT32_MAX;
    if (!is_link) {
      ThrowBadData(place + ": `alignment` holds " + link.dump() +
                   "; it must be a text such as '0-0 1-2' or a list of "
                   "[source, target], word numbers from 0");
    }
    links.push_back({link[0].get<int32_t>(), link[1].get<int32_t>()});
  }
  return links;
}

}  // namespace

PairNotes::PairNotes(const NoteFiles& files)
    : weights_(Open(files.weights)),
      of_records_(files.alignment == kOfRecords) {
  if (!of_records_) alignment_ = Open(files.alignment);
}

PairNote PairNotes::Next(const std::string& place) {
  PairNote note;
  std::string at;
  if (weights_ != nullptr) {
    const std::string text = NextLine(*weights_, place, &at);
    note.weight = ParseWeight(text, at);
  }
  if (alignment_ != nullptr) {
    const std::string text = NextLine(*alignment_, place, &note.links_place);
    note.links = ParsePharaoh(text, note.links_place);
  }
  ++num_lines_;
  return note;
}

std::string PairNotes::NextLine(LineReader& reader, const std::string& place,
                                std::string* line_place) {
  Line line;
  if (!reader.Next(&line)) {
    ThrowBadData(reader.name() + ": ends after " + std::to_string(num_lines_) +
                 " lines, but " + place +
                 " follows; it must have one for every line of --train-sets, "
                 "blank ones too");
  }
  if (!line.error.empty()) ThrowBadData(line.error);
  *line_place = reader.Place(line.number);
  return line.text;
}

void PairNotes::Finish() {
  FinishFile(weights_.get());
  FinishFile(alignment_.get());
}

void PairNotes::FinishFile(LineReader* reader) {
  Line line;
  if (reader == nullptr || !reader->Next(&line)) return;
  ThrowBadData(reader->Place(line.number) + ": follows after the last of " +
               std::to_string(num_lines_) +
               " lines of --train-sets; both must have the same number");
}

void PairNotes::ReadKeys(const Json& record, const std::string& place,
                         PairNote* note) const {
  const auto alignment = record.find("alignment");
  if (of_records_ && alignment != record.end()) {
    note->links = LinksOf(*alignment, place);
    note->links_place = place;
  }
  const auto weight = record.find("weight");
  if (weight == record.end()) return;
  if (weights_ != nullptr) {
    ThrowBadData(place + ": the record has a 'weight', and " +
                 weights_->name() + " gives one too; leave one of them out");
  }
  const double value = weight->is_number() ? weight->get<double>() : -1;
  note->weight = CheckedWeight(value, weight->dump(), place);
}

}  // namespace pipeformer
