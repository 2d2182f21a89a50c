// NumPy's .npz files: a ZIP archive with one .npy file for each array.
// Source: numpy.savez and numpy.lib.npyio.
#ifndef PIPEFORMER_FORMATS_NPZ_H_
#define PIPEFORMER_FORMATS_NPZ_H_

#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/tensor_view.h"

namespace pipeformer {

// The arrays of a .npz file by name (without ".npy"), in the archive's order.
// Members may be stored or deflated. Throws bad data beginning with
// `source_name` and naming the member: see ReadZip and ParseNpy; also for a
// member that is no .npy file.
std::vector<std::pair<std::string, OwnedTensor>> ParseNpz(
    std::span<const std::byte> bytes, std::string_view source_name);

// Writes the tensors as an archive of stored members, in their order. The
// metadata have no place in a .npz file and are left out. Throws bad data
// beginning with a tensor's name: see SerializeNpy and ZipWriter.
void WriteNpz(const TensorCollection& collection, std::ostream& out);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_NPZ_H_
