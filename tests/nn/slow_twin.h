// A slow twin, in double precision, of self-attention and of the pre-norm
// encoder layer under any mask. The golden losses of padded batches include
// the outputs of padded positions, which a ragged batch does not have; the
// twin, once it equals the golden numbers with them, gives the gradients
// without them.
#ifndef PIPEFORMER_TESTS_NN_SLOW_TWIN_H_
#define PIPEFORMER_TESTS_NN_SLOW_TWIN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pipeformer {

// Rows of one width, one after another.
using DoubleRows = std::vector<double>;

// Parameters by PyTorch's names.
using DoubleParameters = std::map<std::string, DoubleRows>;

// Whether query position t sees key position j.
using Sees = std::function<bool(int64_t t, int64_t j)>;

struct SlowShape {
  int64_t d_model = 0;
  int64_t num_heads = 1;
  std::string prefix = {};  // of the attention's parameters
};

// One sentence x [positions, d_model] attending to itself.
DoubleRows SlowSelfAttention(const DoubleParameters& parameters,
                             const SlowShape& shape, const DoubleRows& x,
                             const Sees& sees);

// The pre-norm encoder layer with relu over one sentence.
DoubleRows SlowEncoderLayer(const DoubleParameters& parameters,
                            const SlowShape& shape, const DoubleRows& x,
                            const Sees& sees);

// The gradient of `loss` with respect to `x`, which it reads, by central
// differences: exact to about 1e-9 for losses of size one.
DoubleRows CentralDifferences(const std::function<double()>& loss,
                              DoubleRows& x);

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_NN_SLOW_TWIN_H_
