// The header of a .npy file: a Python dictionary literal with the keys
// `descr`, `fortran_order` and `shape`. Used by npy.cc alone.
#ifndef PIPEFORMER_FORMATS_NPY_HEADER_H_
#define PIPEFORMER_FORMATS_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipeformer {

struct NpyHeader {
  std::string descr;  // a type string such as "<f4"
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses the literal, in any order of keys, with either kind of quotes, with
// any padding. Throws bad data that begins with `source_name` and names the
// byte of the header where it stops being one.
NpyHeader ParseNpyHeader(std::string_view text, std::string_view source_name);

// The literal as NumPy writes it, without padding and line end.
std::string NpyHeaderText(const NpyHeader& header);

}  // namespace pipeformer

#endif  // PIPEFORMER_FORMATS_NPY_HEADER_H_
