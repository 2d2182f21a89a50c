#include "tests/nn/golden.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace pipeformer {
namespace {

void Flatten(const Json& nested, std::vector<double>* flat) {
  if (nested.is_array()) {
    for (const Json& item : nested) Flatten(item, flat);
  } else if (nested.is_string()) {
    flat->push_back(std::numeric_limits<double>::quiet_NaN());
  } else {
    flat->push_back(nested.get<double>());
  }
}

}  // namespace

Json GoldenCase(const std::string& id) {
  std::ifstream file("tests/nn/data/layers_golden.json");
  const Json golden = Json::parse(file);
  for (const Json& c : golden.at("cases")) {
    if (c.at("id") == id) return c;
  }
  throw std::runtime_error("no golden case " + id);
}

std::vector<double> Flat(const Json& nested) {
  std::vector<double> flat;
  Flatten(nested, &flat);
  return flat;
}

PaddedLayout::PaddedLayout(const Json& tensor, const Json& padding)
    : positions_(static_cast<int64_t>(tensor.size())),
      sentences_(static_cast<int64_t>(tensor.at(0).size())) {
  for (int64_t s = 0; s < sentences_; ++s) {
    int32_t end = offsets_.back();
    for (int64_t p = 0; p < positions_; ++p) {
      const bool real = padding.is_null() || !padding.at(s).at(p).get<bool>();
      real_.push_back(real);
      end += real ? 1 : 0;
    }
    offsets_.push_back(end);
  }
}

std::vector<double> PaddedLayout::AllRows(const Json& tensor) const {
  std::vector<double> rows;
  for (int64_t s = 0; s < sentences_; ++s) {
    for (int64_t p = 0; p < positions_; ++p) {
      Flatten(tensor.at(p).at(s), &rows);
    }
  }
  return rows;
}

std::vector<double> PaddedLayout::RealRows(const Json& tensor) const {
  return DropPadded(AllRows(tensor));
}

std::vector<double> PaddedLayout::ClearPadded(std::vector<double> rows) const {
  const size_t width = rows.size() / real_.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!real_[i / width]) rows[i] = 0;
  }
  return rows;
}

std::vector<double> PaddedLayout::DropPadded(
    const std::vector<double>& rows) const {
  const size_t width = rows.size() / real_.size();
  std::vector<double> kept;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (real_[i / width]) kept.push_back(rows[i]);
  }
  return kept;
}

void SetParameters(const Json& params, size_t prefix, ParameterTable& table) {
  table.Allocate();
  size_t count = 0;
  table.ForEachParameter([&](Parameter& p) {
    ++count;
    const std::string name = p.name.substr(prefix);
    ASSERT_TRUE(params.contains(name)) << name;
    const std::vector<double> values = Flat(params.at(name));
    ASSERT_EQ(static_cast<int64_t>(values.size()), p.size()) << name;
    std::transform(values.begin(), values.end(), p.value.data,
                   [](double v) { return static_cast<float>(v); });
  });
  ASSERT_EQ(count, params.size());
}

testing::AssertionResult AreNear(std::span<const double> actual,
                                 std::span<const double> expected,
                                 double tolerance) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure()
           << actual.size() << " numbers, expected " << expected.size();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    // Written so that NaN fails.
    if (!(std::abs(actual[i] - expected[i]) <= tolerance)) {
      return testing::AssertionFailure()
             << "element " << i << " is " << actual[i] << ", expected "
             << expected[i] << ", difference "
             << std::abs(actual[i] - expected[i]);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult AreNear(Matrix actual,
                                 std::span<const double> expected,
                                 double tolerance) {
  std::vector<double> values;
  for (int64_t r = 0; r < actual.rows; ++r) {
    values.insert(values.end(), actual.Row(r), actual.Row(r) + actual.cols);
  }
  return AreNear(values, expected, tolerance);
}

Variable TapedPass::Input(std::span<const double> values, int64_t width) {
  const Variable x =
      context.New(static_cast<int64_t>(values.size()) / width, width);
  std::transform(values.begin(), values.end(), x.value.data,
                 [](double v) { return static_cast<float>(v); });
  return x;
}

void TapedPass::Backward(Variable y, std::span<const double> loss_weights) {
  ASSERT_EQ(y.value.size(), static_cast<int64_t>(loss_weights.size()));
  std::transform(loss_weights.begin(), loss_weights.end(), y.grad.data,
                 [](double v) { return static_cast<float>(v); });
  *y.has_grad = true;
  tape.Backward();
}

}  // namespace pipeformer
