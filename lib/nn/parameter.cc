#include "lib/nn/parameter.h"

#include <cmath>
#include <numbers>

#include "lib/base/error.h"

namespace pipeformer {
namespace {

uint64_t HashName(const std::string& name) {
  uint64_t hash = 0;
  for (const char c : name) {
    hash = MixBits(hash ^ static_cast<unsigned char>(c));
  }
  return hash;
}

// Source: Box & Muller 1958.
double Normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.Uniform());
}

float FirstValue(const Initializer& initializer, Random& random) {
  if (initializer.uniform != 0) {
    return initializer.uniform * static_cast<float>(2 * random.Uniform() - 1);
  }
  if (initializer.normal != 0) {
    return initializer.normal * static_cast<float>(Normal(random));
  }
  return initializer.constant;
}

}  // namespace

Initializer GlorotUniform(int64_t out, int64_t in) {
  return {.uniform = std::sqrt(6.0f / static_cast<float>(out + in))};
}

Parameter& ParameterTable::DeclareMatrix(const std::string& name, int64_t rows,
                                         int64_t cols,
                                         Initializer initializer) {
  return Declare({.name = name,
                  .rows = rows,
                  .cols = cols,
                  .rank = 2,
                  .initializer = initializer});
}

Parameter& ParameterTable::DeclareVector(const std::string& name, int64_t size,
                                         float constant) {
  return Declare({.name = name,
                  .rows = 1,
                  .cols = size,
                  .rank = 1,
                  .initializer = {.constant = constant}});
}

Parameter& ParameterTable::Declare(Parameter parameter) {
  Check(parameter.rows > 0 && parameter.cols > 0,
        "a parameter has no elements: " + parameter.name);
  parameter.offset = size_;
  size_ += parameter.size();
  parameters_.push_back(std::move(parameter));
  return parameters_.back();
}

void ParameterTable::Allocate() {
  values_.assign(static_cast<size_t>(size_), 0.0f);
  for (Parameter& p : parameters_) {
    p.value = DenseMatrix(values_.data() + p.offset, p.rows, p.cols);
  }
}

void ParameterTable::Initialize(uint64_t seed) {
  for (Parameter& p : parameters_) {
    Random random = Random(seed).Fork(HashName(p.name));
    for (int64_t i = 0; i < p.size(); ++i) {
      p.value.data[i] = FirstValue(p.initializer, random);
    }
  }
}

}  // namespace pipeformer
