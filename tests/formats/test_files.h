// Files that a test makes, and what is in them.
#ifndef PIPEFORMER_TESTS_FORMATS_TEST_FILES_H_
#define PIPEFORMER_TESTS_FORMATS_TEST_FILES_H_

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace pipeformer {

inline std::string Path(const std::string& name) {
  return testing::TempDir() + name;
}

inline std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace pipeformer

#endif  // PIPEFORMER_TESTS_FORMATS_TEST_FILES_H_
