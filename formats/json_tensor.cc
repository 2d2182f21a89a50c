#include "formats/json_tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "formats/numbers.h"
#include "lib/base/error.h"

namespace pipeformer {
namespace {

std::optional<float> NumberOf(const Json& json) {
  if (json.is_number()) return static_cast<float>(json.get<double>());
  if (json == "Infinity") return std::numeric_limits<float>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<float>::infinity();
  if (json == "NaN") return std::numeric_limits<float>::quiet_NaN();
  return std::nullopt;
}

// Walks through the lists and keeps the elements as bytes.
class Builder {
 public:
  Builder(const Json& lists, const std::string& name) : place_(name) {
    const Json* first = &lists;
    for (; first->is_array(); first = &first->front()) {
      tensor_.shape.push_back(static_cast<int64_t>(first->size()));
      if (first->empty()) return;
    }
    if (tensor_.shape.empty()) Refuse(lists, "nested lists");
    tensor_.dtype = first->is_boolean() ? DType::kBool : DType::kF32;
    Add(lists, 0);
  }

  OwnedTensor Take() { return std::move(tensor_); }

 private:
  [[noreturn]] void Refuse(const Json& json, const std::string& wanted) const {
    std::string shown = json.is_array()
                            ? "a list of " + std::to_string(json.size())
                            : json.dump(-1, ' ', true);
    if (shown.size() > 60) shown = shown.substr(0, 60) + "...";
    ThrowBadData(place_ + " is " + shown + ", wanted " + wanted);
  }

  void Add(const Json& json, size_t depth) {
    if (depth == tensor_.shape.size()) return AddElement(json);
    const auto size = static_cast<size_t>(tensor_.shape[depth]);
    if (!json.is_array() || json.size() != size) {
      Refuse(json, "a list of " + std::to_string(size) + " as before it");
    }
    const size_t length = place_.size();
    for (size_t i = 0; i < size; ++i) {
      place_ += "[" + std::to_string(i) + "]";
      Add(json[i], depth + 1);
      place_.resize(length);
    }
  }

  void AddElement(const Json& json) {
    if (tensor_.dtype == DType::kBool) {
      if (!json.is_boolean()) Refuse(json, "true or false");
      tensor_.bytes.push_back(std::byte{json.get<bool>()});
      return;
    }
    const std::optional<float> value = NumberOf(json);
    if (!value) Refuse(json, "a number");
    const size_t used = tensor_.bytes.size();
    tensor_.bytes.resize(used + sizeof(float));
    std::memcpy(tensor_.bytes.data() + used, &*value, sizeof(float));
  }

  std::string place_;
  OwnedTensor tensor_;
};

void AppendLists(std::span<const int64_t> shape, const float*& next,
                 std::string& text) {
  if (shape.empty()) return AppendNumber(*next++, text);
  text += '[';
  for (int64_t i = 0; i < shape[0]; ++i) {
    if (i > 0) text += ',';
    AppendLists(shape.subspan(1), next, text);
  }
  text += ']';
}

}  // namespace

OwnedTensor TensorFromJson(const Json& lists, const std::string& name) {
  return Builder(lists, name).Take();
}

void AppendTensorJson(const TensorView& tensor, std::string& text) {
  const float* next = tensor.Elements<float>().data();
  AppendLists(tensor.shape, next, text);
}

}  // namespace pipeformer
