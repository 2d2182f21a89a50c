// The learned matrices of a network. Each is declared once, with its name,
// shape and first values; everything that treats all of them alike (the
// optimiser, the model file, averaging) walks the table.
#ifndef PIPEFORMER_LIB_NN_PARAMETER_H_
#define PIPEFORMER_LIB_NN_PARAMETER_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "lib/base/random.h"
#include "lib/tensor/matrix.h"

namespace pipeformer {

// How a parameter begins: uniform in [-uniform, uniform], normal with a
// deviation, or the constant when both are zero.
struct Initializer {
  float uniform = 0;
  float normal = 0;
  float constant = 0;
};

// The range of Glorot & Bengio 2010, equation 16, for a matrix [out, in].
Initializer GlorotUniform(int64_t out, int64_t in);

// One matrix; a vector has one row and is stored with rank 1, and what PyTorch
// stores as [1, 1, cols] with rank 3.
struct Parameter {
  std::string name;  // as in PyTorch's state dictionary
  int64_t rows = 0;
  int64_t cols = 0;
  int rank = 2;
  Initializer initializer;
  int64_t offset = 0;  // of its first element in the buffers, in floats
  Matrix value = {};   // [rows, cols], dense

  int64_t size() const { return rows * cols; }
};

// The gradient of `p` [rows, cols] in the buffer of all gradients.
inline Matrix GradientOf(const Parameter& p, float* gradients) {
  return DenseMatrix(gradients + p.offset, p.rows, p.cols);
}

class ParameterTable {
 public:
  ParameterTable() = default;
  ParameterTable(const ParameterTable&) = delete;
  ParameterTable& operator=(const ParameterTable&) = delete;

  // Declares a parameter; the reference stays valid. Values come with
  // Allocate, or one by one from a mapped file.
  Parameter& DeclareMatrix(const std::string& name, int64_t rows, int64_t cols,
                           Initializer initializer);
  Parameter& DeclareVector(const std::string& name, int64_t size,
                           float constant);

  // Gives all values one contiguous buffer, zeroed, in the declared order.
  void Allocate();

  // Fills the values with their first numbers: a function of seed and name.
  void Initialize(uint64_t seed);

  // The buffer of Allocate. Requires: Allocate was called.
  float* values() { return values_.data(); }
  const float* values() const { return values_.data(); }

  // Floats in all parameters together.
  int64_t size() const { return size_; }

  template <class Visit>
  void ForEachParameter(Visit visit) {
    for (Parameter& p : parameters_) visit(p);
  }
  template <class Visit>
  void ForEachParameter(Visit visit) const {
    for (const Parameter& p : parameters_) visit(p);
  }

 private:
  Parameter& Declare(Parameter parameter);

  std::deque<Parameter> parameters_;
  std::vector<float> values_;
  int64_t size_ = 0;
};

}  // namespace pipeformer

#endif  // PIPEFORMER_LIB_NN_PARAMETER_H_
