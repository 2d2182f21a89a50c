#include "formats/pharaoh.h"

#include <algorithm>
#include <charconv>

#include "formats/tensor_view.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

// The digits at the start of `*text`, which it loses; false where there are
// none or their number has no four bytes.
bool TakeNumber(std::string_view* text, int32_t* number) {
  if (text->empty() || text->front() < '0' || text->front() > '9') return false;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, *number);
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  return error == std::errc();
}

Link ParseLink(std::string_view word, const std::string& place) {
  Link link;
  std::string_view rest = word;
  if (TakeNumber(&rest, &link.source) && rest.starts_with('-')) {
    rest.remove_prefix(1);
    if (TakeNumber(&rest, &link.target) && rest.empty()) return link;
  }
  ThrowBadData(place + ": " + Quoted(word) +
               " is no link of an alignment; write SOURCE-TARGET, two word "
               "numbers from 0, as in 0-0 1-2");
}

}  // namespace

std::vector<Link> ParsePharaoh(std::string_view line,
                               const std::string& place) {
  std::vector<Link> links;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return links;
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(" \t"));
    links.push_back(ParseLink(word, place));
    line.remove_prefix(word.size());
  }
}

}  // namespace pipeformer
