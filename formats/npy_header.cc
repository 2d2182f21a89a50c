#include "formats/npy_header.h"

#include <algorithm>
#include <charconv>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

// Reads the few kinds of Python literal a header may hold, left to right.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::string_view source_name)
      : text_(text), source_name_(source_name) {}

  [[noreturn]] void Fail(const std::string& message) const {
    ThrowBadData(std::string(source_name_) + ": header byte " +
                 std::to_string(at_ + 1) + ": " + message);
  }

  // Takes `wanted` if it comes next, after white space.
  bool Accept(std::string_view wanted) {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  void Expect(std::string_view wanted) {
    if (!Accept(wanted)) Fail("wanted '" + std::string(wanted) + "'");
  }

  bool AtEnd() { return Accept("") && at_ == text_.size(); }

  // A string in single or double quotes without escapes.
  std::string String() {
    const char quote = Accept("'") ? '\'' : '"';
    if (quote == '"' && !Accept("\"")) Fail("wanted a string");
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) Fail("a string without end");
    const std::string_view value = text_.substr(at_, end - at_);
    if (value.find('\\') != std::string_view::npos) {
      Fail("an escape in a string");
    }
    at_ = end + 1;
    return std::string(value);
  }

  bool Bool() {
    if (Accept("True")) return true;
    if (!Accept("False")) Fail("wanted True or False");
    return false;
  }

  // A tuple of dimensions: (), (3,), (2, 3). One number in brackets without a
  // comma is no tuple.
  std::vector<int64_t> Shape() {
    std::vector<int64_t> shape;
    Expect("(");
    while (!Accept(")")) {
      shape.push_back(Dimension());
      if (Accept(",")) continue;
      Expect(")");
      if (shape.size() == 1) Fail("a shape of one dimension wants a comma");
      break;
    }
    return shape;
  }

 private:
  int64_t Dimension() {
    Accept("");
    const char* begin = text_.data() + at_;
    const char* end = text_.data() + text_.size();
    int64_t value = 0;
    const auto [next, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range) {
      Fail("a dimension passes 2^63 - 1");
    }
    if (error != std::errc() || value < 0) {
      Fail("wanted a dimension, a whole number from 0");
    }
    at_ += static_cast<size_t>(next - begin);
    Accept("L");  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  std::string_view source_name_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader ParseNpyHeader(std::string_view text, std::string_view source_name) {
  LiteralReader reader(text, source_name);
  NpyHeader header;
  std::vector<std::string> keys;
  reader.Expect("{");
  while (!reader.Accept("}")) {
    const std::string key = reader.String();
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      reader.Fail("the key '" + key + "' occurs twice");
    }
    reader.Expect(":");
    if (key == "descr") {
      if (reader.Accept("[")) {
        reader.Fail("an array of records; only plain numbers are read");
      }
      header.descr = reader.String();
    } else if (key == "fortran_order") {
      header.fortran_order = reader.Bool();
    } else if (key == "shape") {
      header.shape = reader.Shape();
    } else {
      reader.Fail("a key that is none of descr, fortran_order, shape");
    }
    keys.push_back(key);
    if (reader.Accept(",")) continue;
    reader.Expect("}");
    break;
  }
  if (!reader.AtEnd()) reader.Fail("something follows the dictionary");
  if (keys.size() != 3) {
    reader.Fail("descr, fortran_order or shape is missing");
  }
  return header;
}

std::string NpyHeaderText(const NpyHeader& header) {
  std::string shape = "(";
  for (const int64_t dimension : header.shape) {
    if (shape.size() > 1) shape += ' ';
    shape += std::to_string(dimension) + ",";
  }
  if (header.shape.size() > 1) shape.pop_back();
  return "{'descr': '" + header.descr +
         "', 'fortran_order': " + (header.fortran_order ? "True" : "False") +
         ", 'shape': " + shape + "), }";
}

}  // namespace pipeformer
