// Writes one file of each tensor format into the folder named by the first
// argument, for numpy_test.py to read.
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "formats/output_file.h"
#include "formats/tensor_file.h"
#include "formats/tensor_stream.h"

namespace pipeformer {
namespace {

template <class T>
std::vector<T> Counting(size_t size) {
  std::vector<T> values(size);
  std::iota(values.begin(), values.end(), T{});
  return values;
}

void WriteSamples(const std::string& folder) {
  const auto f32 = Counting<float>(24);
  const auto f64 = Counting<double>(6);
  const auto i32 = Counting<int32_t>(4);
  const auto i64 = Counting<int64_t>(3);
  const auto u8 = Counting<uint8_t>(5);
  TensorCollection tensors;
  tensors.metadata = {{"format", "sample"}, {"quoted", "a \"b\" \xc3\xa9\n"}};
  tensors.Add("f64", ViewOf(std::span(f64), {2, 3}));
  tensors.Add("i64", ViewOf(std::span(i64), {3}));
  tensors.Add("layer.0/f32", ViewOf(std::span(f32), {2, 3, 4}));
  tensors.Add("i32", ViewOf(std::span(i32), {4, 1}));
  tensors.Add("empty", ViewOf(std::span(f32).first(0), {0, 3}));
  tensors.Add("scalar", ViewOf(std::span(f32).subspan(7, 1), {}));
  tensors.Add("u8.\xc3\xa9", ViewOf(std::span(u8), {5}));
  WriteTensorFile(tensors, folder + "/sample.safetensors");
  WriteTensorFile(tensors, folder + "/sample.npz");

  TensorCollection one;
  one.Add("f32", ViewOf(std::span(f32), {2, 3, 4}));
  WriteTensorFile(one, folder + "/sample.npy");

  OutputFile stream(folder + "/sample.stream");
  WriteTensorFrame("first", tensors, stream.stream());
  WriteTensorFrame("second", one, stream.stream());
  stream.Commit();
}

}  // namespace
}  // namespace pipeformer

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  pipeformer::WriteSamples(argv[1]);
}
